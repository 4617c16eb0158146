/** Functions, methods and closures that share variables which the module does not export. */
const state = { sold: 0 };
const names: string[] = [];
let last = 0;

export function sell(name: string): number {
  names.push(name);
  last = state.sold + 1;
  state.sold = last;
  return last;
}

export const counted = (): number[] => [state.sold, names.length, last];

/** Methods that travel, since no function of them is an export. */
export const desk = {
  sell(name: string): number[] {
    sell(name);
    last += 10;
    return [state.sold, names.length, last, ...counted()];
  },
};

export const makeDesk = (prefix: string) => (name: string) => {
  sell(prefix + name);
  return [state.sold, names.at(-1), ...counted()];
};

class Ticket {
  readonly id: number;
  constructor(id: number) {
    this.id = id;
  }
}

export const ticket = (id: number): Ticket => new Ticket(id);
export const isTicket = (value: unknown): boolean => value instanceof Ticket;
