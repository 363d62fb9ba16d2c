// Package export reads what a kcp shows the provider of an APIExport: the addresses of
// its virtual workspaces, one a shard, and what they serve of the workspaces that bind
// it: their APIBindings, and the objects whose permission claim they have accepted.
//
//	client, err := export.New(config, "computecontracts")
//	slice, err := client.Slice(ctx)
//	err = client.Get(ctx, slice.URLs[0]+"/clusters/*/apis/…", &list)
//
// It reads only, with plain HTTP: what is read may be secret, and is in no log and no
// error of this package, however verbose.
package export
