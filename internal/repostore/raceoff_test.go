//go:build !race

package repostore

const raced = false
