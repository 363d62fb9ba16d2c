// Package provider sets up the provider workspace of a kcp: it applies the manifests of
// artifacts/kcp there, and looks at everything that has to be as it is before a tenant's
// request reaches our server.
//
// Order of reading: Init is what happens and when; each check has a file of its own.
//
// # What kcp does, as of v0.32.3
//
//   - CachedResource is served in every workspace, also without the feature gate
//     CacheAPIs. Without it nobody acts on one: it stays without any condition.
//   - A shard takes the one endpoint of an InfraEndpointSlice whose url begins with the
//     shard's --shard-virtual-workspace-url, compared as strings. None, or two, is an
//     error for each request. The shard publishes that URL in the root workspace, as
//     Shard.spec.virtualWorkspaceURL.
//   - An APIResourceSchema can't be changed. Bindings that there are follow an APIExport
//     to new schemas by themselves.
//   - An APIExport's own condition is IdentityValid. VirtualWorkspaceURLsReady is there
//     behind a deprecated feature gate alone.
package provider
