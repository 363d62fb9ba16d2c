// Package release gives back what a workspace holds that has gone away, and deletes its
// objects. It talks to the API alone, at /clusters/<workspace>, and touches no other
// workspace. Records are their accounts': none is deleted, and what they declare stays.
// They are detached: they neither appear nor run where the workspace comes back, until
// somebody binds them again.
//
// The order: no record appears by itself any more; collections go and their objects stay;
// Infras and EphemeralInfras are set to retain their records and deleted, which has the
// controller release their contracts first; ComputeContracts that nobody owns; then the
// AtprotoRepos. What is next follows from what is there, so that a release which was
// interrupted goes on where it was when it is called again.
package release
