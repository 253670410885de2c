/** The library's own default; lull's quiet target is the same. */
export const debounceMs = 1_500;
