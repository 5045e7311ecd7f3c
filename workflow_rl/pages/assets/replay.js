// The replay's player: shows one frame at a time, by button, slider, key or click.
"use strict";

(() => {
  const { frames, hostNames, routes } = pageData;
  const last = frames.length - 1;
  const byId = (id) => document.getElementById(id);
  const [play, scrub, speed] = ["play", "scrub", "speed"].map(byId);
  const cards = hostNames.map((_, host) => document.querySelector(`[data-host="${host}"]`));
  const accessWords = { none: "no access", user: "user", privileged: "privileged" };
  const markWords = { no: "clean", unknown: "unknown", user: "user", privileged: "privileged" };
  const seenWords = { scan: "scan seen", exploit: "exploit seen" };
  const partWords = ["hosts held by Red", "OT service down", "Restore"];
  const redNames = { bline: "B_line", meander: "Meander", sleep: "asleep" };
  const points = (value) => value.toFixed(1);
  let position = 0;
  let timer = null;

  // --- one frame

  const percent = (chance) => {
    const whole = Math.min(Math.max(Math.round(100 * chance), 1), 99); // 0 and 100 are for what is certain
    return `${chance <= 0 ? 0 : chance >= 1 ? 100 : whole}\u00a0%`;
  };

  const knownWords = (user, privileged) => {
    const level = [["none", 1 - user - privileged], ["user", user], ["privileged", privileged]];
    const [likeliest, chance] = level.reduce((a, b) => (b[1] > a[1] ? b : a));
    if (chance > 0.9999) return [likeliest, accessWords[likeliest]];
    const held = user + privileged;
    const some = held > 0.9999 ? "held" : `${percent(held)} held`;
    const most = privileged > 0 && user > 0 ? `, ${percent(privileged)} privileged` : "";
    return [likeliest, some + most];
  };

  const showKnown = (part, [user, privileged]) => {
    const [level, words] = knownWords(user, privileged);
    part("known").dataset.level = level;
    part("known").textContent = words;
    part("chances").classList.toggle("certain", words === accessWords[level]);
    part("user").style.width = `${100 * user}%`;
    part("privileged").style.width = `${100 * privileged}%`;
  };

  const showHost = (card, host, known, isDown) => {
    const part = (name) => card.querySelector(`[data-part="${name}"]`);
    if (known) showKnown(part, known);
    card.dataset.access = host.access;
    part("access").dataset.level = host.access;
    part("access").textContent = accessWords[host.access];
    part("mark").dataset.level = host.mark;
    part("mark").textContent = markWords[host.mark];
    part("seen").hidden = host.seen === "none";
    part("seen").textContent = seenWords[host.seen] || "";
    part("malware").hidden = !host.malware;
    part("decoys").replaceChildren(...host.decoys.map((name) => {
      const decoy = document.createElement("span");
      decoy.className = "decoy";
      decoy.textContent = `decoy ${name}`;
      return decoy;
    }));
    const service = part("ot");
    if (service) {
      service.textContent = isDown ? "OT service DOWN" : "OT service running";
      service.classList.toggle("down", isDown);
    }
  };

  const showVerdict = (element, prefix, verdict, why) => {
    element.hidden = verdict === undefined || verdict === "no fix";
    if (element.hidden) return;
    element.dataset.verdict = verdict;
    element.textContent = `${prefix}${verdict}: ${why}.`;
  };

  const knownOfAll = (frame) => {
    const agents = Object.entries(frame.redKnown).sort((a, b) => b[1] - a[1]);
    const named = agents.map(([name, chance]) => redNames[name] + (chance < 1 ? ` (${percent(chance)})` : ""));
    const stopped = frame.otStoppedKnown;
    const service = stopped <= 0 ? "is running" : `is stopped${stopped < 1 ? ` (${percent(stopped)})` : ""}`;
    return `Belief: Red is ${named.join(" or ")}; the OT service ${service}.`;
  };

  const rewardParts = (frame) => {
    const hosts = frame.costs.map(([host, cost]) => `${hostNames[host]} ${points(cost)}`).join(", ");
    const named = frame.parts
      .map((value, i) => (value ? `${partWords[i]} ${points(value)}${i === 0 ? ` (${hosts})` : ""}` : ""))
      .filter(Boolean);
    return named.length ? named.join("; ") : "nothing was lost";
  };

  const dueWords = (frame) => {
    if (frame.due === undefined) return "The order asked for nothing yet.";
    if (frame.due === null) return "The order asked for no fix: no host was marked.";
    return `The order asked for a fix of ${frame.due}: ${frame.dueHosts.join(" or ")}.`;
  };

  const showChoices = (frame) => {
    const rows = byId("now-choices");
    if (!rows) return;
    [...rows.children].forEach((row, i) => {
      const choice = (frame.choices || [])[i];
      row.hidden = !choice;
      if (!choice) return;
      const [name, chance, taken] = choice;
      row.classList.toggle("taken", taken);
      row.querySelector(".choice-name").textContent = name;
      row.querySelector(".choice-chance").textContent = `${(100 * chance).toFixed(1)}\u00a0%`;
      row.querySelector(".choice-bar").style.width = `${100 * chance}%`;
    });
  };

  const show = (to, { fromSlider = false } = {}) => {
    position = Math.min(Math.max(to, 0), last);
    const frame = frames[position];
    byId("now-title").textContent = position ? `Step ${position} of ${last}` : "Before the first step";
    byId("now-blue").textContent = frame.blue;
    byId("now-red").textContent = frame.red;
    byId("now-reward").textContent = points(frame.reward);
    byId("now-total").textContent = points(frame.total);
    byId("now-parts").textContent = rewardParts(frame);
    byId("now-known").textContent = frame.known ? knownOfAll(frame) : "";
    if (byId("now-due")) byId("now-due").textContent = dueWords(frame);
    showChoices(frame);
    showVerdict(byId("now-verdict"), "", frame.verdict, frame.why);
    showVerdict(byId("now-true"), "by the true state ", frame.trueVerdict, frame.trueWhy);
    cards.forEach((card, host) => {
      showHost(card, frame.hosts[host], frame.known?.[host], frame.otDown.includes(host));
      const [byRed, byBlue] = [frame.redHost === host, frame.blueHost === host];
      card.classList.toggle("by-red", byRed);
      card.classList.toggle("by-blue", byBlue);
      card.querySelector(".aim-red").hidden = !byRed;
      card.querySelector(".aim-blue").hidden = !byBlue;
    });
    for (const subnet of document.querySelectorAll("[data-subnet]")) {
      const isSwept = Number(subnet.dataset.subnet) === frame.redSubnet;
      subnet.classList.toggle("swept", isSwept);
      subnet.querySelector(".sweep").hidden = !isSwept;
    }
    for (const item of document.querySelectorAll("[data-unit]")) {
      const isDue = frame.due === item.dataset.unit;
      item.classList.toggle("due", isDue);
      item.querySelector(".due-mark").hidden = !isDue;
    }
    follow(frame.redHost);
    drawRoutes(); // cards grow and shrink with what they show
    for (const [index, path] of [...byId("routes").children].entries()) {
      path.classList.toggle("held", routes[index].every((host) => frame.hosts[host].access !== "none"));
    }
    if (!fromSlider) scrub.value = String(position);
    scrub.setAttribute("aria-valuetext", `step ${position} of ${last}`);
    byId("position").textContent = `${position} / ${last}`;
    moveCursor();
  };

  // Scrolls a network that is wider than its frame to what Red does.
  const follow = (host) => {
    const view = document.querySelector(".network-frame[role]");
    if (!view || !cards[host]) return;
    const [card, seen] = [cards[host], view].map((part) => part.getBoundingClientRect());
    if (card.left < seen.left) view.scrollLeft -= seen.left - card.left + 12;
    else if (card.right > seen.right) view.scrollLeft += card.right - seen.right + 12;
  };

  // --- the lines between subnets

  const drawRoutes = () => {
    const svg = byId("routes");
    const frame = svg.parentElement.getBoundingClientRect();
    svg.replaceChildren(...routes.map(([from, to]) => {
      const [a, b] = [cards[from].getBoundingClientRect(), cards[to].getBoundingClientRect()];
      const [x1, y1] = [a.right - frame.left, a.top + a.height / 2 - frame.top];
      const [x2, y2] = [b.left - frame.left, b.top + b.height / 2 - frame.top];
      const bend = (x2 - x1) / 2;
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      path.setAttribute("d", `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`);
      return path;
    }));
  };

  // --- the timeline

  const timeline = byId("timeline");
  const drawTimeline = () => figures.draw(timeline);
  const moveCursor = () => {
    if (!figures.drawn.has(timeline)) return;
    const colour = getComputedStyle(document.documentElement).getPropertyValue("color");
    Plotly.relayout(timeline, {
      shapes: [{
        type: "line", x0: position, x1: position, yref: "paper", y0: 0, y1: 1,
        line: { width: 2, color: colour, dash: "dot" },
      }],
    });
  };

  // --- playing

  const stop = () => {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
    play.setAttribute("aria-pressed", "false");
    byId("now").setAttribute("aria-live", "polite");
  };
  const start = () => {
    if (position === last) show(0);
    play.textContent = "Pause";
    play.setAttribute("aria-pressed", "true");
    byId("now").setAttribute("aria-live", "off"); // nobody can listen that fast
    timer = setInterval(() => {
      show(position + 1);
      if (position === last) stop();
    }, 1000 / Number(speed.value));
  };
  const toggle = () => (timer ? stop() : start());
  const step = (by) => { stop(); show(position + by); };

  play.addEventListener("click", toggle);
  byId("back").addEventListener("click", () => step(-1));
  byId("forward").addEventListener("click", () => step(1));
  scrub.addEventListener("input", () => { stop(); show(Number(scrub.value), { fromSlider: true }); });
  speed.addEventListener("change", () => { if (timer) { stop(); start(); } });

  const keys = {
    " ": toggle,
    ArrowLeft: () => step(-1),
    ArrowRight: () => step(1),
    Home: () => { stop(); show(0); },
    End: () => { stop(); show(last); },
  };
  document.addEventListener("keydown", (event) => {
    if (!(event.key in keys) || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target.matches("select, summary, a, [role=region]")) return; // keys of their own
    if (event.target.matches("button") && event.key === " ") return;
    if (event.target === scrub && event.key !== " ") return;
    event.preventDefault();
    keys[event.key]();
  });

  addEventListener("resize", () => show(position));
  theme.onChange(() => { drawTimeline().then(moveCursor); });
  theme.show();
  show(Number(location.hash.replace("#step=", "")) || 0);
  timeline.on("plotly_click", (event) => { stop(); show(event.points[0].x); });
})();
