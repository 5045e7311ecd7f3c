// What a reader could not read on the page as it is shown now; run inside the page.
() => {
  const problems = [];
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => { // any CSS colour as four numbers
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => top.slice(0, 3).map((c, i) => c * top[3] + below[i] * (1 - top[3]));
  const background = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      const layer = rgba(getComputedStyle(e).backgroundColor);
      if (layer[3] > 0) layers.push(layer);
      if (layer[3] === 1) break;
    }
    let result = [255, 255, 255];
    for (const layer of layers.reverse()) result = over(layer, result);
    return result;
  };
  const luminance = (colour) => {
    const [r, g, b] = colour.map((c) => {
      const s = c / 255;
      return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };

  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) {
    problems.push(`the page is ${document.documentElement.scrollWidth} wide on a screen of ${width}`);
  }
  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.data.trim();
    const element = walker.currentNode.parentElement;
    if (!text || ["SCRIPT", "STYLE", "NOSCRIPT", "OPTION"].includes(element.tagName)) continue;
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    if (element.closest(".hidden, .skip, .heatmap-label, .hoverlayer, .modebar")) continue;
    const box = element.getBoundingClientRect();
    if (!box.width || !box.height) continue;
    texts += 1;
    const style = getComputedStyle(element);
    const inSvg = element.closest("svg") !== null;
    const size = parseFloat(style.fontSize);
    const where = `${element.tagName.toLowerCase()}.${element.getAttribute("class") || ""} "${text.slice(0, 40)}"`;
    if (size < 12) problems.push(`${size}px text: ${where}`);
    const colour = rgba(inSvg ? style.fill : style.color);
    const ground = background(inSvg ? element.closest("svg").parentElement : element);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = contrast(over(colour, ground), ground);
    if (ratio < (large ? 3 : 4.5)) problems.push(`contrast ${ratio.toFixed(2)}: ${where}`);
    // Beyond the screen's edge, and not in something that scrolls
    if ((box.right > width + 1 || box.left < -1) && !element.closest(".scroll, nav, .tabs")) {
      problems.push(`beyond the edge (${Math.round(box.left)} to ${Math.round(box.right)} of ${width}): ${where}`);
    }
  }
  return { texts, problems: [...new Set(problems)] };
}
