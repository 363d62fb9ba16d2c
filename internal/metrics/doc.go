// Package metrics holds every metric of ours, beside those that a Kubernetes API
// server has anyway. They are registered in the registry of component-base, with
// stability Alpha, and served at /metrics.
//
// What is counted is counted where it happens, by the functions of this package.
// What is a state (how far a repository is ingested, what waits) is asked for at
// each scrape, from whoever called AddSource: so a repository that is unmounted
// leaves no series behind.
//
// No label holds what a client or a PDS can choose freely. Objects have no series.
// AtprotoRepos have, under their workspace and name, since who may make one is an
// administrator; MaxRepositories bounds them all the same. Workspaces have, and
// MaxWorkspaces bounds them. PDS hosts have none.
package metrics
