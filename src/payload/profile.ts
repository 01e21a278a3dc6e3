/** By an annotation of this name and the profile behind it an object of a payload says which clusters take it. */
export const inclusionPrefix = 'include.release.openshift.io/';

/** The profile that clusters have where nobody says another. */
export const profileDefault = 'self-managed-high-availability';
