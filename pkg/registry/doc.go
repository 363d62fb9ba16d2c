// Package registry holds what the registries of all kinds share: storage keys
// that carry the workspace, rules of metadata, the status subresource and the
// table of printer columns. The packages below it hold one strategy each.
package registry
