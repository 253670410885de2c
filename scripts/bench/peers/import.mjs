// A peer's package. Here, because packages are looked for beside the file that imports them.
/** @param {string} name @returns {Promise<any>} */
export const peer = (name) => import(name);
