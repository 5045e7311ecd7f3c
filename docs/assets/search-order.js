/* The search matches any word: pages that have more of the words come first, then by the score. */
window.Worker = class extends window.Worker {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", ({ data: { type, data } }) => {
      if (type !== 3) return; // a result: for each page, its sections with the words each has
      const words = section => Object.keys(section.terms).filter(word => section.terms[word]);
      const inPage = page => new Set(page.flatMap(words)).size;
      const inSection = page => Math.max(...page.map(section => words(section).length));
      for (const page of data.items) page.sort((a, b) => words(b).length - words(a).length);
      data.items.sort((a, b) => inPage(b) - inPage(a) || inSection(b) - inSection(a));
    });
  }
};
