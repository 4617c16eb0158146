import { EmptyError, firstValueFrom, from, map, Observable, of, reduce } from "rxjs";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const doubled = from([1, 2, 3]).pipe(map((n) => n * 2));
const sum = reduce((total, n) => total + n, 0);

void check({
  binding: () => routine(() => firstValueFrom(of(1).pipe(map((n) => n + 1))))(),
  instance: () => routine(() => firstValueFrom(doubled.pipe(reduce((a, b) => a + b))))(),
  operator: () => routine(() => firstValueFrom(of(1, 2).pipe(sum)))(),
  argument: () => routine((it) => firstValueFrom(it))(doubled),
  result: async () => {
    const made = await routine(() => of(5))();
    return [made instanceof Observable, await firstValueFrom(made)];
  },
  thrown: async () => {
    const error = await reasonOf(routine(() => firstValueFrom(of()))());
    return [error instanceof EmptyError, error.name, error.message];
  },
});
