package repostore

import (
	clientv3 "go.etcd.io/etcd/client/v3"
)

// The fence of a repository is one etcd key. An ingest reads it before it reads
// the record, and its write compares it (I5). The deletion of a view bumps it in its
// own transaction: an ingest that read the record before would create it again,
// with a new uid. Its value is the rev of the deletion.

// bumpFence is the operation that makes every ingest under way start again.
func (s *Store) bumpFence(ws, did, rev string) clientv3.Op {
	return clientv3.OpPut(s.keys.fence(ws, did), rev)
}

// absent and at are the compares of our transactions.
func absent(key string) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(key), "=", 0)
}

func at(key string, modRevision int64) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(key), "=", modRevision)
}
