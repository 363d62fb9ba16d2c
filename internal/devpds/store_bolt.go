package devpds

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ipfs/go-cid"
	"go.etcd.io/bbolt"
)

// The buckets of pds.db. Keys of blocks, records and roots begin with the DID
// and a zero byte.
var (
	bucketMeta     = []byte("meta")     // name → value
	bucketAccounts = []byte("accounts") // DID → account, JSON
	bucketTokens   = []byte("tokens")   // id → refreshToken, JSON
	bucketRoots    = []byte("roots")    // DID → rev (13 bytes) + commit CID
	bucketBlocks   = []byte("blocks")   // CID → rev (13 bytes) + data
	bucketRecords  = []byte("records")  // path → takedown (1 byte) + CID
	bucketEvents   = []byte("events")   // seq (8 bytes) → unix nanos (8 bytes) + frame

	metaSecret    = []byte("secret")
	metaForgotten = []byte("forgotten")
	metaLastSeq   = []byte("lastSeq")
)

const revLen = 13

// boltStore is a store in one bbolt file. Every apply is fsync'd before it
// returns.
type boltStore struct{ db *bbolt.DB }

// openBolt opens dir/pds.db, making it if need be. It fails at once when another
// process has it open.
func openBolt(dir string) (*boltStore, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	path := filepath.Join(dir, "pds.db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: 2 * time.Second, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{bucketMeta, bucketAccounts, bucketTokens, bucketRoots, bucketBlocks, bucketRecords, bucketEvents} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return fmt.Errorf("bucket %s: %w", name, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare %s: %w", path, err), db.Close())
	}
	return &boltStore{db}, nil
}

func (b *boltStore) close() error { return b.db.Close() }

// apply implements store.
func (b *boltStore) apply(c change) error {
	err := b.db.Update(func(tx *bbolt.Tx) error {
		w := &boltWriter{tx: tx}
		if c.secret != nil {
			w.put(bucketMeta, metaSecret, c.secret)
		}
		for _, a := range c.accounts {
			w.putJSON(bucketAccounts, []byte(a.DID), a)
		}
		for _, t := range c.tokens {
			w.putJSON(bucketTokens, []byte(t.ID), t)
		}
		for _, id := range c.revoked {
			w.delete(bucketTokens, []byte(id))
		}
		if c.repo != nil {
			w.repo(c.repo)
		}
		for _, e := range c.events {
			w.put(bucketEvents, seqKey(e.seq), append(binary.BigEndian.AppendUint64(nil, uint64(e.at.UnixNano())), e.frame...))
			w.put(bucketMeta, metaLastSeq, seqKey(e.seq))
		}
		if c.forget > 0 {
			w.forget(c.forget)
		}
		return w.err
	})
	if err != nil {
		return fmt.Errorf("write pds.db: %w", err)
	}
	return nil
}

// boltWriter writes in one transaction and keeps the first error.
type boltWriter struct {
	tx  *bbolt.Tx
	err error
}

func (w *boltWriter) put(bucket, key, value []byte) {
	if w.err == nil {
		w.err = w.tx.Bucket(bucket).Put(key, value)
	}
}

func (w *boltWriter) putJSON(bucket, key []byte, value any) {
	b, err := json.Marshal(value)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.put(bucket, key, b)
}

func (w *boltWriter) delete(bucket, key []byte) {
	if w.err == nil {
		w.err = w.tx.Bucket(bucket).Delete(key)
	}
}

func (w *boltWriter) repo(r *repoChange) {
	if r.commit.Defined() {
		w.put(bucketRoots, []byte(r.did), append([]byte(r.rev), r.commit.Bytes()...))
	}
	for _, c := range r.drop {
		w.delete(bucketBlocks, repoKey(r.did, c.KeyString()))
	}
	for _, b := range r.put {
		w.put(bucketBlocks, repoKey(r.did, b.key), append([]byte(b.rev), b.data...))
	}
	for _, path := range r.removed {
		w.delete(bucketRecords, repoKey(r.did, path))
	}
	for _, rec := range r.records {
		flag := byte(0)
		if rec.takedown {
			flag = 1
		}
		w.put(bucketRecords, repoKey(r.did, rec.path), append([]byte{flag}, rec.cid.Bytes()...))
	}
}

// forget drops the events up to seq.
func (w *boltWriter) forget(seq uint64) {
	if w.err != nil {
		return
	}
	last := seqKey(seq)
	bucket := w.tx.Bucket(bucketEvents)
	cursor := bucket.Cursor()
	for k, _ := cursor.First(); k != nil && bytes.Compare(k, last) <= 0; k, _ = cursor.First() {
		if w.err = bucket.Delete(k); w.err != nil {
			return
		}
	}
	w.put(bucketMeta, metaForgotten, last)
}

// events implements store.
func (b *boltStore) events(after uint64, limit int) ([]event, error) {
	var out []event
	err := b.db.View(func(tx *bbolt.Tx) error {
		cursor := tx.Bucket(bucketEvents).Cursor()
		for k, v := cursor.Seek(seqKey(after + 1)); k != nil && len(out) < limit; k, v = cursor.Next() {
			out = append(out, event{
				seq:   binary.BigEndian.Uint64(k),
				at:    time.Unix(0, int64(binary.BigEndian.Uint64(v))),
				frame: bytes.Clone(v[8:]),
			})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return out, nil
}

// load implements store.
func (b *boltStore) load() (*saved, error) {
	s := &saved{repos: map[string]*snapshot{}}
	err := b.db.View(func(tx *bbolt.Tx) error {
		meta := tx.Bucket(bucketMeta)
		s.secret = bytes.Clone(meta.Get(metaSecret))
		s.lastSeq, s.forgotten = keySeq(meta.Get(metaLastSeq)), keySeq(meta.Get(metaForgotten))
		return errors.Join(
			tx.Bucket(bucketAccounts).ForEach(func(_, v []byte) error {
				a := &account{}
				s.accounts = append(s.accounts, a)
				return json.Unmarshal(v, a)
			}),
			tx.Bucket(bucketTokens).ForEach(func(_, v []byte) error {
				var t refreshToken
				err := json.Unmarshal(v, &t)
				s.tokens = append(s.tokens, t)
				return err
			}),
			tx.Bucket(bucketRoots).ForEach(func(k, v []byte) error {
				snap := newSnapshot(string(k))
				s.repos[snap.did] = snap
				snap.rev = string(v[:revLen])
				var err error
				snap.commit, err = cid.Cast(bytes.Clone(v[revLen:]))
				return err
			}),
			tx.Bucket(bucketBlocks).ForEach(func(k, v []byte) error {
				did, key, _ := bytes.Cut(k, []byte{0})
				s.repos[string(did)].blocks.ReplaceOrInsert(block{
					key: string(key), rev: string(v[:revLen]), data: bytes.Clone(v[revLen:]),
				})
				return nil
			}),
			tx.Bucket(bucketRecords).ForEach(func(k, v []byte) error {
				did, path, _ := bytes.Cut(k, []byte{0})
				c, err := cid.Cast(bytes.Clone(v[1:]))
				s.repos[string(did)].records.ReplaceOrInsert(record{
					path: string(path), cid: c, takedown: v[0] == 1, json: &lazyJSON{},
				})
				return err
			}),
		)
	})
	if err != nil {
		return nil, fmt.Errorf("read pds.db: %w", err)
	}
	return s, nil
}

// repoKey is a key below a DID.
func repoKey(did, key string) []byte {
	return append(append([]byte(did), 0), key...)
}

// seqKey sorts as its number.
func seqKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// keySeq is the number of a seqKey, 0 for none.
func keySeq(key []byte) uint64 {
	if len(key) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(key)
}
