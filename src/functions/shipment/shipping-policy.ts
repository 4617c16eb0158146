/** How one function is to travel, and what is known of the receiver. */
export interface ShippingPolicy {
  /** `auto` (the default) decides by the rules; the others apply to this function, not to what it captured. */
  readonly ship?: "auto" | "reference" | "value";
  /** The modules that the receiver said it cannot load, by hash, and why: their code travels instead. */
  readonly unavailable?: ReadonlyMap<string, string>;
  /** For a method: an object that has or inherits it, or its class. Needed when the method uses `super` or private names. */
  readonly holder?: object;
  /** The process this goes to: what came from there is named by its id alone. */
  readonly destination?: string;
  /** What arrives is a call: a function that this process sent out itself is made anew, not the original. */
  readonly isCall?: boolean;
}
