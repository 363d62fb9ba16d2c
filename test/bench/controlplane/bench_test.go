//go:build e2e

package controlplane

import (
	"testing"
)

// BenchmarkControlPlane measures in the order in which the objects become more.
func BenchmarkControlPlane(b *testing.B) {
	e := newEnv(b)
	empty := e.memory(b)
	e.fill(b, *objects/10)
	b.Run("Get", e.benchGet)
	b.Run("GetCached", e.benchGetCached)
	b.Run("PatchLabel", e.benchPatchLabel)
	b.Run("PatchDeclaration", e.benchPatchDeclaration)
	b.Run("Watch", e.benchWatch)
	b.Run("ListTenth", e.benchList)
	e.fill(b, *objects)
	full := e.memory(b)
	b.Run("List", e.benchList)
	b.Run("Memory", func(b *testing.B) { e.benchMemory(b, empty, full, e.memory(b)) })
	b.Run("Watchers", e.benchWatchers)
}
