// A page of figures: all are drawn, and again when the theme or the room for them changes.
"use strict";

(() => {
  const draw = () => document.querySelectorAll("[data-figure]").forEach((element) => figures.draw(element));
  theme.onChange(draw);
  figures.onChange(draw);
  theme.show();
})();
