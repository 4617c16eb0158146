/** Where in a class a method or accessor is. */
export interface MemberPlace {
  readonly owner: object;
  readonly isStatic: boolean;
  readonly key: string | symbol;
  readonly role: (typeof MEMBER_ROLES)[number];
}

/** What a member can be in its descriptor. */
export const MEMBER_ROLES = ["value", "get", "set"] as const;

const places = new WeakMap<object, MemberPlace>();

/** Remembers the members that the body of a class defined, in their original state. */
export function noteMembers(
  owner: object,
  isStatic: boolean,
  members: ReadonlyMap<string | symbol, PropertyDescriptor>,
): void {
  for (const [key, descriptor] of members) {
    for (const role of MEMBER_ROLES) {
      const member: unknown = descriptor[role];
      if (key !== "constructor" && typeof member === "function") places.set(member, { owner, isStatic, key, role });
    }
  }
}

/** Remembers the place of a method or accessor. */
export function notePlace(fn: object, place: MemberPlace): void {
  places.set(fn, place);
}

/** The place of a function that `noteMembers` or `notePlace` has recorded. */
export function notedPlace(fn: object): MemberPlace | undefined {
  return places.get(fn);
}
