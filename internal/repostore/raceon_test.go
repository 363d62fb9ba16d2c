//go:build race

package repostore

// raced: the race detector makes everything about ten times slower. Schedules are
// deterministic, so it finds in a part of them what it would find in all.
const raced = true
