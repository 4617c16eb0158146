/** One way through all tiles: what is done, by whom, and how long it took. */
export class Run {
  done = 0;
  /** By process id, in the order in which they appeared: `order`, `tiles`, `rate` in tiles a second. */
  pids = new Map();
  /** The process that drew each tile, by place and in the order of arrival. */
  byTile = [];
  byArrival = [];
  onTile = () => undefined;
  onEnd = () => undefined;
  #began = performance.now();
  #ended;

  constructor(title, total) {
    this.title = title;
    this.total = total;
  }

  get elapsed() {
    return (this.#ended ?? performance.now()) - this.#began;
  }

  get rate() {
    return (this.done / this.elapsed) * 1000;
  }

  tileDone(tile) {
    const { index, pid } = tile;
    const share = this.pids.get(pid) ?? { order: this.pids.size, tiles: 0, rate: 0 };
    share.tiles++;
    share.rate = (share.tiles / this.elapsed) * 1000;
    this.pids.set(pid, share);
    this.done++;
    this.byTile[index] = pid;
    this.byArrival.push(pid);
    this.onTile(tile);
  }

  end() {
    this.#ended = performance.now();
    this.onEnd();
  }
}
