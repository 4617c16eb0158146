import type { LoadBalancerContextView, LoadBalancerLike } from "../../balancing/index.ts";
import type { CallGroup } from "../../call/index.ts";
import { availableCores } from "../../host/index.ts";
import type { Member, MemberLink, MemberSession } from "../members/index.ts";
import { reportAttempts } from "./attempt-report.ts";
import type { CallQueue } from "./call-queue.ts";
import { spreadEvenly, type Taker } from "./spread-evenly.ts";

/**
 * After this many calls in a row, each made when nothing else was under way, a caller counts as one that waits for each
 * answer.
 */
const LONG_STREAK = 64;
/** After this many calls of such a caller another worker gets a turn. */
const SERIAL_TURN = 1024;
/**
 * How many task threads are looked at to find the least loaded ones, unless twice the number of calls is more. The
 * least loaded of so many are hardly busier than the least loaded of all. Looking at 10,000 threads would take 500 us
 * for each call.
 */
const MOST_LOOKS = 128;

/**
 * Microseconds of work that are worth waking one more thread, which costs 50 to 500 us. On two cores, with 400 trivial
 * calls under way, 40 workers did 4,000 calls/s when each got a handful of calls, and 240,000 calls/s with this limit;
 * 2 workers did 430,000.
 */
const WORTH_WAKING_US = 200;
/**
 * Short calls keep no more threads of this machine awake than it has cores. Without this limit, 40 workers on two busy
 * cores did 4,000 to 15,000 of 400 trivial calls under way per second, in all of three runs, and 100,000 to 250,000 with it.
 * A pack is one call of as many microseconds as are worth waking a thread: a map over 40 workers did 2.2x as many trivial items
 * with this limit.
 */
const CORES = availableCores();
/**
 * How many of the members that had calls last are asked first: their threads are awake. With one for each of two cores, 10 and
 * 40 workers did 1.2x as many trivial calls with 100 under way as with none.
 */
const MOST_WARM = CORES;
/**
 * After this many rounds others get a turn. The engine of a worker optimizes its code during its first turns. With 1024 rounds, 40
 * workers on two cores did 0.7 to 0.8 million trivial calls/s for 9 s, with 400 under way, and then 1.4 million. With this number
 * they do 1.4 million after 1 s. Two workers did 1.9.
 */
const WARM_ROUNDS = 8192;

/** Hands out calls in runs to the least loaded workers, so that each run is one message. */
export class Runs {
  readonly #queue: CallQueue;
  readonly #calls: CallGroup;
  /** The members in the order of their turns, and the place of each. */
  readonly #ring: Member[] = [];
  readonly #places = new Map<Member, number>();
  readonly #byLink = new Map<MemberLink, Member>();
  #turn = 0;
  /** The members that had calls last, most recent first. */
  #warm: Member[] = [];
  #rounds = 0;
  /** The progress at which no member had room. */
  #fullAt = -1;
  /** Calls in a row that were made when nothing else was under way. */
  #streak = 0;
  /** The thread that got the last call. */
  #lastSerial: { readonly session: MemberSession; readonly member: Member } | undefined;

  /** `calls`: the calls of the pool that have not ended. */
  constructor(queue: CallQueue, calls: CallGroup) {
    this.#queue = queue;
    this.#calls = calls;
  }

  /**
   * Whether no worker has anything to do. With calls under way and more than `MOST_LOOKS` members it returns false
   * without a look.
   */
  get isIdle(): boolean {
    if (this.#calls.size <= this.#queue.size) return true;
    if (this.#ring.length > MOST_LOOKS) return false;
    for (const { link } of this.#ring) if (link.inFlight > 0) return false;
    return true;
  }

  add(member: Member): void {
    this.#places.set(member, this.#ring.push(member) - 1);
    this.#byLink.set(member.link, member);
  }

  remove(member: Member): void {
    const place = this.#places.get(member);
    const last = this.#ring.pop();
    if (place === undefined || last === undefined) return;
    if (last !== member) {
      this.#ring[place] = last;
      this.#places.set(last, place);
    }
    this.#places.delete(member);
    this.#warm = this.#warm.filter((warm) => warm !== member);
    if (this.#byLink.get(member.link) === member) this.#byLink.delete(member.link);
  }

  /**
   * Whether no member has room, as far as is known. `progress` counts the moments at which there may have been more
   * room.
   */
  isFull(progress: number): boolean {
    return this.#fullAt === progress;
  }

  /**
   * Hands out as many calls as there is room for. Calls whose arguments take long to send do not use up room, so there
   * may be several rounds. `link`: where there is more room than at the last progress, if that is known.
   */
  distribute(balancer: LoadBalancerLike, context: LoadBalancerContextView, progress: number, link?: MemberLink): void {
    const queue = this.#queue;
    if (this.isFull(progress)) return;
    const settled = balancer.settled === undefined ? undefined : { balancer, context };
    const only = link !== undefined && this.isFull(progress - 1) ? this.#byLink.get(link) : undefined;
    let before = -1;
    while (queue.size > 0 && queue.size !== before) {
      before = queue.size;
      if (!this.#serial(settled)) this.#round(only, settled);
    }
    if (queue.size > 0 || (only !== undefined && roomOf(only).length === 0)) this.#fullAt = progress;
  }

  /**
   * A caller that waits for each answer before it makes the next call stays with one worker after a while, because the
   * threads of that worker are awake. That halves the time of such calls. Returns whether it handed out the only
   * waiting call.
   */
  #serial(settled: Settled | undefined): boolean {
    const last = this.#lastSerial;
    const serial = this.#queue.size === 1 && this.isIdle;
    this.#streak = serial ? this.#streak + 1 : 0;
    if (this.#streak < LONG_STREAK || this.#streak % SERIAL_TURN === 0 || last === undefined) return false;
    if (!last.session.isOpen || last.session.room <= 0) return false;
    if (!this.#places.has(last.member)) return false;
    this.#send(last.session, last.member, 1, settled);
    return true;
  }

  /** `only`: the one member that may have room. */
  #round(only: Member | undefined, settled: Settled | undefined): void {
    const found = only === undefined ? this.#findRoom() : roomOf(only);
    const portions = spreadEvenly(found, this.#queue.size);
    for (let i = 0; i < found.length; i++) {
      const { session, member } = found[i] as Room;
      const portion = portions[i] as number;
      if (portion > 0) this.#send(session, member, portion, settled);
    }
  }

  /** Task threads for the waiting calls, with the room of each. */
  #findRoom(): Room[] {
    const run = this.#queue.run(WORTH_WAKING_US);
    const forRuns = run > 1 || this.#queue.hasPacks ? this.#findForRuns(run) : undefined;
    if (forRuns !== undefined) return forRuns;
    return this.#queue.size === 1 ? this.#findLeast() : this.#findIdle(this.#queue.size);
  }

  /** The first task thread, in the order of turns, that has the least to do. `#findIdle` for a single call. */
  #findLeast(): Room[] {
    const ring = this.#ring;
    let best: { readonly session: MemberSession; readonly member: Member } | undefined;
    let least = Number.POSITIVE_INFINITY;
    let looks = 0;
    const first = this.#turn % Math.max(1, ring.length);
    for (let i = 0; i < ring.length && least > 0 && looks < MOST_LOOKS; i++) {
      const member = ring[(first + i) % ring.length] as Member;
      if (!member.isUsual) continue;
      for (const session of member.link.sessions) {
        if (session.room <= 0) continue;
        looks++;
        const load = session.inFlight;
        if (load >= least) continue;
        least = load;
        best = { session, member };
      }
    }
    this.#turn = first + 1;
    return best === undefined ? [] : [{ ...best, load: least, room: best.session.room }];
  }

  /** Task threads with room for calls, in the order of turns: idle ones only, if there are enough. */
  #findIdle(wanted: number): Room[] {
    const ring = this.#ring;
    const most = Math.max(MOST_LOOKS, 2 * wanted);
    const found: Room[] = [];
    let idle = 0;
    const first = this.#turn % Math.max(1, ring.length);
    for (let i = 0; i < ring.length && idle < wanted && found.length < most; i++) {
      for (const room of roomOf(ring[(first + i) % ring.length] as Member)) {
        found.push(room);
        if (room.load === 0) idle++;
      }
    }
    this.#turn = first + 1;
    return found;
  }

  /**
   * As few task threads as can take all waiting calls with at most `run` calls each. When the threads on this machine
   * that would be awake are as many as its cores, one more would only take turns with them, so they get as much as they
   * have room for. Prefers threads that had calls last. Undefined if there are not enough, or if one of their workers
   * limits how many tasks it runs: the others would wait.
   */
  #findForRuns(run: number): Room[] | undefined {
    const ring = this.#ring;
    const found: Room[] = [];
    let local = 0;
    let room = 0;
    let roomForRuns = 0;
    const isEnough = (member: Member): boolean => {
      for (const each of roomOf(member)) {
        if (each.load >= run && local >= CORES) continue;
        found.push(each);
        room += each.room;
        roomForRuns += Math.max(0, Math.min(each.room, run - each.load));
        if (member.link.sharesFiles) local++;
      }
      return (local >= CORES ? room : roomForRuns) >= this.#queue.size;
    };
    const warm = new Set(this.#warm);
    for (const member of warm) {
      if (member.isLimited) return undefined;
      if (isEnough(member)) return this.#warmUp(found);
    }
    for (let i = 0; i < Math.min(ring.length, MOST_LOOKS); i++) {
      const member = ring[(this.#turn + i) % ring.length] as Member;
      if (member.isLimited) return undefined;
      if (!warm.has(member) && isEnough(member)) return this.#warmUp(found);
    }
    return undefined;
  }

  #warmUp(rooms: Room[]): Room[] {
    if (++this.#rounds % WARM_ROUNDS === 0) {
      this.#warm = [];
      this.#turn++;
    } else this.#warm = [...new Set([...rooms.map(({ member }) => member), ...this.#warm])].slice(0, MOST_WARM);
    return rooms;
  }

  #send(session: MemberSession, member: Member, count: number, settled: Settled | undefined): void {
    const calls = this.#queue.take(count);
    if (settled !== undefined) for (const call of calls) reportAttempts(call, settled.balancer, settled.context);
    if (this.#lastSerial === undefined || this.#lastSerial.session !== session) this.#lastSerial = { session, member };
    session.send(calls, member);
  }
}

/** A task thread that can take calls. */
interface Room extends Taker {
  readonly session: MemberSession;
  readonly member: Member;
}

function roomOf(member: Member): Room[] {
  const found: Room[] = [];
  if (!member.isUsual) return found;
  for (const session of member.link.sessions) {
    if (session.room > 0) found.push({ session, member, load: session.inFlight, room: session.room });
  }
  return found;
}

/** A balancer that wants to know the outcomes of calls. */
interface Settled {
  readonly balancer: LoadBalancerLike;
  readonly context: LoadBalancerContextView;
}
