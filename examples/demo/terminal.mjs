const USABLE_COLOUR_DEPTH = 8;

/** Where the demo is shown: a terminal that is drawn on in place, or a pipe that gets plain lines. */
export class Terminal {
  #stream;
  #shown = [];
  #restore = () => this.close();
  #interrupt = () => process.exit(130);

  constructor(stream) {
    this.#stream = stream;
    this.isLive = stream.isTTY === true && process.env.TERM !== "dumb";
    // Fewer than 256 colours are not enough for the picture; NO_COLOR means none.
    const depth = this.isLive ? stream.getColorDepth() : 1;
    this.colourDepth = depth >= USABLE_COLOUR_DEPTH ? depth : 1;
    this.columns = this.isLive ? Math.max(20, stream.columns || 80) : 80;
    this.rows = this.isLive ? Math.max(12, stream.rows || 24) : 24;
    stream.on("error", (error) => {
      // The reader of the pipe has gone, as with `head`.
      if (error.code === "EPIPE") process.exit(0);
      throw error;
    });
    process.once("exit", this.#restore);
    process.once("SIGINT", this.#interrupt);
    if (this.isLive) stream.write("\x1b[?25l");
  }

  get isWide() {
    return this.columns >= 72;
  }

  /** Columns and rows for the picture. The text about it is beside it, or below. */
  get pictureSize() {
    const columns = this.isWide ? Math.min(this.columns - 32, 112) : this.columns - 2;
    const rows = this.rows - (this.isWide ? 4 : 12);
    return { columns, rows: Math.max(4, Math.min(rows, Math.ceil(columns * 0.45))) };
  }

  /** Text in a colour, `[red, green, blue]`, where there are colours. */
  paint(text, foreground, background) {
    if (this.colourDepth === 1) return text;
    const back = background === undefined ? "" : `\x1b[48;${this.#code(background)}m`;
    return `\x1b[38;${this.#code(foreground)}m${back}${text}\x1b[0m`;
  }

  bold(text) {
    return this.colourDepth === 1 ? text : `\x1b[1m${text}\x1b[0m`;
  }

  faint(text) {
    return this.colourDepth === 1 ? text : `\x1b[2m${text}\x1b[0m`;
  }

  /** Shows lines in the place of those drawn before. In a pipe it shows nothing. */
  draw(frame) {
    if (!this.isLive) return;
    // Lines that have scrolled off the top cannot be drawn over.
    const lines = frame.slice(0, this.rows - 1);
    let output = this.#shown.length > 0 ? `\x1b[${this.#shown.length}A\r` : "";
    for (const [i, line] of lines.entries()) output += line === this.#shown[i] ? "\n" : `${line}\x1b[0m\x1b[K\n`;
    this.#stream.write(`${output}\x1b[J`);
    this.#shown = lines;
  }

  /** Keeps the drawing; later output is shown below it. */
  keep() {
    this.#shown = [];
  }

  /** Prints lines that stay. */
  print(lines) {
    this.keep();
    this.#stream.write(`${lines.join("\n")}\n`);
  }

  close() {
    process.off("exit", this.#restore);
    process.off("SIGINT", this.#interrupt);
    if (this.isLive) this.#stream.write("\x1b[0m\x1b[?25h");
  }

  #code([red, green, blue]) {
    if (this.colourDepth >= 24) return `2;${Math.round(red)};${Math.round(green)};${Math.round(blue)}`;
    const level = (value) => Math.round((value / 255) * 5);
    return `5;${16 + 36 * level(red) + 6 * level(green) + level(blue)}`;
  }
}
