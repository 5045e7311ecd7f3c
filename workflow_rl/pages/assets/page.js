// What every page does: its theme, and figures that follow it.
"use strict";

const pageData = JSON.parse(document.getElementById("page-data").textContent);

const theme = (() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const listeners = [];
  const remembered = () => {
    try { return localStorage.getItem("workflow-rl-theme"); } catch { return null; }
  };
  const remember = (name) => {
    try { localStorage.setItem("workflow-rl-theme", name); } catch { /* a private window, say */ }
  };
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const show = () => {
    const other = isDark() ? "Light theme" : "Dark theme";
    button.querySelector("span").textContent = other;
    button.setAttribute("aria-label", other);
    for (const listener of listeners) listener();
  };
  const chosen = remembered();
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remember(root.dataset.theme);
    show();
  });
  system.addEventListener("change", show);
  return { isDark, show, onChange: (listener) => listeners.push(listener) };
})();

const figures = (() => {
  const drawn = new Set();
  const coarse = matchMedia("(pointer: coarse)").matches;
  const narrow = matchMedia("(max-width: 700px)");

  // A figure is made in the colours of the light page; the dark page swaps each for its own.
  const coloured = (value) => {
    if (typeof value === "string") {
      if (!theme.isDark()) return value;
      if (pageData.dark[value]) return pageData.dark[value];
      return value.includes("#") ? value.replace(/#[0-9a-f]{6}/g, (c) => pageData.dark[c] || c) : value;
    }
    if (Array.isArray(value)) return value.map(coloured);
    if (value && typeof value === "object" && !ArrayBuffer.isView(value)) {
      return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, coloured(part)]));
    }
    return value;
  };

  // Where there is no room beside labelled rows, their labels stand above them.
  const labelled = (figure) => {
    const labels = (figure.layout.meta || {}).rows;
    if (!labels || !narrow.matches) return figure;
    const extra = figure.layout.height - 34 * labels.length;
    figure.layout.height = extra + 52 * labels.length;
    figure.layout.yaxis.showticklabels = false;
    figure.layout.yaxis.range = [labels.length - 0.6, -0.7];
    figure.layout.annotations = labels.map((text, row) => ({
      text, x: 0, xref: "paper", xanchor: "left", y: row, yshift: 19, showarrow: false, font: { size: 13 },
    }));
    return figure;
  };

  // There a legend takes a line for each entry, which the figure has to be higher for.
  const withLegend = (figure) => {
    const entries = figure.data.filter((trace) => trace.name && trace.showlegend !== false).length;
    if (narrow.matches && figure.layout.showlegend !== false) figure.layout.height += 20 * entries;
    return figure;
  };

  const draw = (element, change = (figure) => figure) => {
    const source = pageData.figures[element.id];
    const figure = coloured(withLegend(labelled(change(structuredClone(source)))));
    if (coarse) { // a finger scrolls the page instead of zooming the figure
      for (const key of Object.keys(figure.layout)) {
        if (/^[xy]axis\d*$/.test(key)) figure.layout[key].fixedrange = true;
      }
    }
    figure.layout.font.family = getComputedStyle(document.body).fontFamily;
    drawn.add(element);
    return Plotly.react(element, figure.data, figure.layout, {
      displaylogo: false,
      displayModeBar: coarse ? false : "hover",
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
      responsive: true,
    });
  };

  return { draw, drawn, onChange: (listener) => narrow.addEventListener("change", listener) };
})();
