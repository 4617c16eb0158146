const TILE_COLUMNS = 8;
const TILE_ROWS = 2;
const RAMP = " .:-=+*#%@";

/** A picture made of tiles. A character shows two pixels, one above the other. */
export class Picture {
  #shown;

  constructor({ columns, rows }) {
    this.tilesAcross = Math.ceil(columns / TILE_COLUMNS);
    this.tilesDown = Math.ceil(rows / TILE_ROWS);
    this.width = columns;
    this.height = rows * 2;
    this.pixels = new Uint8Array(this.width * this.height * 3);
    this.tiles = Array.from({ length: this.tilesAcross * this.tilesDown }, (_, index) => this.#tile(index));
    this.#shown = this.pixels.slice();
  }

  #tile(index) {
    const left = (index % this.tilesAcross) * TILE_COLUMNS;
    const top = Math.floor(index / this.tilesAcross) * TILE_ROWS * 2;
    const width = Math.min(TILE_COLUMNS, this.width - left);
    const height = Math.min(TILE_ROWS * 2, this.height - top);
    return { index, left, top, width, height, pictureWidth: this.width, pictureHeight: this.height };
  }

  /** Puts the pixels of a tile into their place. */
  place(index, pixels) {
    const { left, top, width, height } = this.tiles[index];
    for (let row = 0; row < height; row++) {
      const line = pixels.subarray(row * width * 3, (row + 1) * width * 3);
      this.pixels.set(line, ((top + row) * this.width + left) * 3);
      this.#shown.set(line, ((top + row) * this.width + left) * 3);
    }
  }

  /** Clears the picture except for a shadow of it. */
  dim() {
    this.pixels.fill(0);
    this.#shown = this.#shown.map((value) => value * 0.22);
  }

  holds(pixels) {
    return Buffer.compare(this.pixels, pixels) === 0;
  }

  /** The picture as lines for a terminal. */
  lines(terminal) {
    return Array.from({ length: this.height / 2 }, (_, row) => {
      let line = "";
      for (let column = 0; column < this.width; column++) {
        const upper = this.#pixel(column, row * 2);
        const lower = this.#pixel(column, row * 2 + 1);
        line += terminal.colourDepth === 1 ? brightness(upper, lower) : terminal.paint("▀", upper, lower);
      }
      return line;
    });
  }

  #pixel(x, y) {
    const at = (y * this.width + x) * 3;
    return this.#shown.subarray(at, at + 3);
  }
}

function brightness(upper, lower) {
  const sum = [...upper, ...lower].reduce((total, value) => total + value, 0);
  return RAMP[Math.min(RAMP.length - 1, Math.floor((sum / (6 * 256)) * RAMP.length))];
}
