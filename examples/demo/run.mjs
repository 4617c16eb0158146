/** One run through all tiles: what is done, by which process, and how long it took. */
export class Run {
  done = 0;
  /** For each process id: its place in the list of `pids`, the tiles it drew, and how many in a second. */
  shares = new Map();
  /** The process that drew each tile, by place and in the order of arrival. */
  byTile = [];
  byArrival = [];
  onTile = () => undefined;
  onEnd = () => undefined;
  #began = performance.now();
  #ended;

  constructor(title, total, pids) {
    this.title = title;
    this.total = total;
    for (const [order, pid] of pids.entries()) this.shares.set(pid, { order, tiles: 0, rate: 0 });
  }

  get elapsed() {
    return (this.#ended ?? performance.now()) - this.#began;
  }

  get rate() {
    return (this.done / this.elapsed) * 1000;
  }

  tileDone(tile) {
    const share = this.shares.get(tile.pid);
    if (share !== undefined) {
      share.tiles++;
      share.rate = (share.tiles / this.elapsed) * 1000;
    }
    this.done++;
    this.byTile[tile.index] = tile.pid;
    this.byArrival.push(tile.pid);
    this.onTile(tile);
  }

  end() {
    this.#ended = performance.now();
    this.onEnd();
  }
}
