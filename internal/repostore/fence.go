package repostore

import (
	clientv3 "go.etcd.io/etcd/client/v3"
)

// The fence of a repository is one etcd key. An ingest reads it before it reads
// the record, and where it makes an object, its write compares it (I5). The deletion
// of a view bumps it in its own transaction: an ingest that read the record before
// would create it again, with a new uid. Its value is the highest rev of a deletion.
//
// Where the view is there, its own revision tells that it was not deleted. To compare
// the fence, too, would let many deletions in one only one at a time: each makes all
// others ask the PDS again.

// bumpFence is the operation that makes every creation by an ingest under way start
// again. Deletions end in any order: the value never goes back, the mod revision
// rises each time.
func (s *Store) bumpFence(ws, did, rev string) clientv3.Op {
	key := s.keys.fence(ws, did)
	put := []clientv3.Op{clientv3.OpPut(key, rev)}
	touch := []clientv3.Op{clientv3.OpPut(key, "", clientv3.WithIgnoreValue())}
	again := []clientv3.Op{clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.Value(key), "<", rev)}, put, touch)}
	return clientv3.OpTxn([]clientv3.Cmp{absent(key)}, put, again)
}

// creation is what an ingest compares that makes an object of a record, which it has
// read at rev: that no view of it was deleted since. A deletion whose value is rev or
// less was of another record, or before the record was created again. Only a deletion
// that leaves the record says nothing by its value: one that retains it detaches it, and
// for one of the view alone see viewalone.go.
func (s *Store) creation(ws string, uri recordURI, sn snapshot, rev string) []clientv3.Cmp {
	key := s.keys.fence(ws, uri.did)
	fence := at(key, sn.fence)
	if sn.deleted != "" && sn.deleted <= rev {
		fence = clientv3.Compare(clientv3.Value(key), "<", rev+"\x00")
	}
	return []clientv3.Cmp{fence, absent(s.keys.detached(s.resource.Resource, ws, uri.did, uri.RKey))}
}

// absent, present and at are the compares of our transactions.
func absent(key string) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(key), "=", 0)
}

func present(key string) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(key), ">", 0)
}

func at(key string, modRevision int64) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(key), "=", modRevision)
}
