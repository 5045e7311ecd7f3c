// The controls of a page of sections: figures, tables that sort and filter, tabs, copying.
"use strict";

(() => {
  const highlighted = { ...pageData.highlight }; // run -> training, on reports

  const withHighlight = (run) => (figure) => {
    for (const trace of figure.data) {
      if (trace.meta !== undefined && trace.meta === highlighted[run]) {
        trace.line.color = "#1f5fbf";
        trace.line.width = 3;
        trace.zorder = 1;
      }
    }
    return figure;
  };

  const draw = (element) => {
    const select = document.querySelector(`select[data-highlight="${element.id}"]`);
    return figures.draw(element, select ? withHighlight(select.dataset.run) : undefined);
  };

  const drawVisible = () => {
    for (const element of document.querySelectorAll("[data-figure]")) {
      if (!figures.drawn.has(element) && element.offsetParent !== null) draw(element);
    }
  };

  const redraw = () => figures.drawn.forEach((element) => draw(element));
  theme.onChange(redraw);
  figures.onChange(redraw);

  for (const select of document.querySelectorAll("select[data-highlight]")) {
    select.value = highlighted[select.dataset.run];
    select.addEventListener("change", () => {
      highlighted[select.dataset.run] = select.value;
      draw(document.getElementById(select.dataset.highlight));
    });
  }

  // --- sorting

  const valueOf = (row, column, isNumber) => {
    const cell = row.cells[column];
    if (!isNumber) return cell.textContent;
    return cell.dataset.value === "" ? Number.NaN : Number(cell.dataset.value);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      heading.querySelector("button").addEventListener("click", () => {
        const isNumber = heading.dataset.kind === "number";
        const descending = heading.getAttribute("aria-sort") === "ascending";
        const body = table.tBodies[0];
        const rows = [...body.rows].map((row, index) => [valueOf(row, column, isNumber), index, row]);
        rows.sort(([a, i], [b, j]) => {
          const lost = Number.isNaN(a) - Number.isNaN(b); // what is not known comes last
          if (lost) return lost;
          const order = isNumber ? a - b : a.localeCompare(b);
          return (descending ? -order : order) || i - j;
        });
        body.append(...rows.map(([, , row]) => row));
        for (const other of headings) other.removeAttribute("aria-sort");
        heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
      });
    });
  }

  // --- filtering: words in any place, or "a > b" for a somewhere before b

  const matches = (order, query) => {
    const chain = query.split(/>|›|,|→/).map((part) => part.trim()).filter(Boolean);
    if (chain.length > 1) {
      const places = chain.map((name) => order.findIndex((unit) => unit.startsWith(name)));
      return places.every((place, i) => place >= 0 && (i === 0 || place > places[i - 1]));
    }
    return query.split(/\s+/).every((word) => order.some((unit) => unit.includes(word.replace(">", ""))));
  };
  for (const controls of document.querySelectorAll(".controls[data-table]")) {
    const table = document.getElementById(controls.dataset.table);
    const input = controls.querySelector("[data-filter]");
    const status = controls.querySelector("[data-status]");
    const update = () => {
      const query = input.value.trim().toLowerCase();
      let shown = 0;
      for (const row of table.tBodies[0].rows) {
        const is = row.dataset.status;
        const wanted = !status.value || is === status.value || (status.value === "tried" && is !== "untried")
          || (status.value === "best" && row.dataset.best === "yes");
        row.hidden = !(wanted && matches(row.dataset.order.split(" "), query));
        shown += !row.hidden;
      }
      controls.querySelector("[data-count]").textContent = `${shown} of ${table.tBodies[0].rows.length} orders`;
    };
    input.addEventListener("input", update);
    status.addEventListener("change", update);
  }

  // --- tabs

  const tabs = [...document.querySelectorAll("[role=tab]")];
  const open = (tab) => {
    for (const other of tabs) {
      const isOpen = other === tab;
      other.setAttribute("aria-selected", String(isOpen));
      other.tabIndex = isOpen ? 0 : -1;
      document.getElementById(other.getAttribute("aria-controls")).hidden = !isOpen;
    }
    drawVisible();
  };
  tabs.forEach((tab, index) => {
    tab.addEventListener("click", () => open(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(index + step + tabs.length) % tabs.length];
      next.focus();
      open(next);
    });
  });
  for (const link of document.querySelectorAll("[data-open]")) {
    link.addEventListener("click", () => open(document.getElementById(`${link.dataset.open}-tab`)));
  }

  // --- copying

  for (const button of document.querySelectorAll("[data-copy]")) {
    const source = document.getElementById(button.dataset.copy);
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(source.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(source);
        button.textContent = "Selected";
      }
    });
  }

  theme.show();
  drawVisible();
})();
