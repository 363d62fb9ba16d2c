// Package testkcp stands for a kcp in tests: the workspace of an APIExport's provider and,
// for each shard, the export's virtual workspace, over TLS. It answers as the source of kcp
// v0.32 says that kcp does, also where that is odd, and fails as a test asks it to. What
// only a real kcp can show isn't tested with it.
package testkcp
