/** How one function is to travel, and what is known of the receiver. */
export interface ShippingPolicy {
  /** `auto` (the default) decides by the rules; the others apply to this function, not to what it captured. */
  readonly ship?: "auto" | "reference" | "value";
  /** Hashes of the modules that the receiver said it cannot load: their code travels instead. */
  readonly unavailable?: ReadonlySet<string>;
  /** The process this goes to: what came from there is named by its id alone. */
  readonly destination?: string;
}
