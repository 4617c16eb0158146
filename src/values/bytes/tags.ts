/** First byte of every value in a payload. `README.md` has the layout that follows each. */

/** 0x00 to 0x7f are the integers 0 to 127 themselves. */
export const INT_MAX = 0x7f;
/** 0x80 to 0x9f: ASCII string of 0 to 31 characters. */
export const SHORT_STRING = 0x80;
/** 0xa0 to 0xaf: array of 0 to 15 elements. */
export const SHORT_ARRAY = 0xa0;
/** 0xb0 to 0xbf: plain object of 0 to 15 properties. */
export const SHORT_OBJECT = 0xb0;

export const UNDEFINED = 0xc0;
export const NULL = 0xc1;
export const FALSE = 0xc2;
export const TRUE = 0xc3;
export const INT = 0xc4;
export const FLOAT = 0xc5;
export const BIGINT_64 = 0xc6;
export const BIGINT = 0xc7;
export const ASCII_STRING = 0xc8;
export const UTF8_STRING = 0xc9;
export const UTF16_STRING = 0xca;
export const REGISTERED_SYMBOL = 0xcb;
export const WELL_KNOWN_SYMBOL = 0xcc;
export const UNIQUE_SYMBOL = 0xcd;
export const PLATFORM_SYMBOL = 0xce;
export const BACK_REFERENCE = 0xcf;
export const ARRAY = 0xd0;
export const OBJECT = 0xd1;
export const LATER_ARRAY = 0xd2;
export const LATER_OBJECT = 0xd3;
export const SPECIAL_OBJECT = 0xd4;
export const FUNCTION = 0xd5;
export const REFERENCE = 0xd6;
export const CELL = 0xd7;
export const TRAVELLER = 0xd8;
export const NUMBERS = 0xd9;
export const SEGMENT = 0xda;
/** 0xe0 to 0xef: plain object with the keys of the 1st to 16th one that was written with its keys. */
export const RECORD = 0xe0;
/** How many lists of keys a payload remembers. */
export const SHAPES = 16;

/** High half of the first byte of a payload. */
export const FORMAT = 0x10;
/** The payload holds back references, so the reader has to remember the objects that it makes. */
export const HAS_REFERENCES = 0x01;
/** The payload ends in a binary section. */
export const HAS_BINARY = 0x02;

/** After the value follow entries of weak collections, for objects in the payload. */
export const HAS_WEAK_ENTRIES = 0x04;

/** Nesting up to which a value's contents follow it at once; deeper contents are at the end of the payload. */
export const INLINE_DEPTH = 100;
/**
 * Nesting that a reader accepts. Contents that cannot be moved to the end (class hierarchies) may go beyond
 * `INLINE_DEPTH` up to this.
 */
export const MAX_DEPTH = 400;
