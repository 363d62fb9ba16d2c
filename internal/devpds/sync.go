package devpds

import (
	"bytes"
	"sort"

	"github.com/bluesky-social/indigo/atproto/repo/mst"
	"github.com/ipfs/go-cid"
	"k8s.io/klog/v2"
)

// carType is the media type of CAR files.
const carType = "application/vnd.ipld.car"

// available finds an account whose repository the caller may see.
func (s *Server) available(handleOrDID string, auth *credentials) (*account, error) {
	a := s.findAccount(handleOrDID)
	switch {
	case a == nil:
		return nil, badRequest("RepoNotFound", "Could not find repo for DID: %s", handleOrDID)
	case auth.isUserOrAdmin(a.DID):
		return a, nil
	case a.TakedownRef != "":
		return nil, badRequest("RepoTakendown", "Repo has been takendown: %s", handleOrDID)
	case !a.DeactivatedAt.IsZero():
		return nil, badRequest("RepoDeactivated", "Repo has been deactivated: %s", handleOrDID)
	}
	return a, nil
}

// syncTarget is the snapshot of the repository that a query names by did.
func (s *Server) syncTarget(r *request) (*snapshot, error) {
	did := r.params.Get("did")
	if err := checkDID(did, "$.did"); err != nil {
		return nil, err
	}
	a, err := s.available(did, r.auth)
	if err != nil {
		return nil, err
	}
	return s.repository(a.DID).cur.Load(), nil
}

// getLatestCommit is com.atproto.sync.getLatestCommit.
func (s *Server) getLatestCommit(r *request) (any, error) {
	snap, err := s.syncTarget(r)
	if err != nil {
		return nil, err
	}
	return commitView(snap), nil
}

// syncGetRecord is com.atproto.sync.getRecord: a CAR with the commit, the MST
// nodes on the way to the record's place, and the record if it is there.
func (s *Server) syncGetRecord(r *request) (any, error) {
	_, collection, rkey, err := recordParams(r.params, "did")
	if err != nil {
		return nil, err
	}
	snap, err := s.syncTarget(r)
	if err != nil {
		return nil, err
	}
	blocks, err := proof(snap, pathOf(collection, rkey))
	if err != nil {
		return nil, err
	}
	car, err := carFile(snap.commit, append([]carBlock{{snap.commit, snap.bytes(snap.commit)}}, blocks...))
	if err != nil {
		return nil, err
	}
	r.w.Header().Set("Content-Type", carType)
	_, _ = r.w.Write(car) // the client is gone otherwise
	return handled{}, nil
}

// proof is the blocks that show what is at a path, or that nothing is.
func proof(snap *snapshot, path string) ([]carBlock, error) {
	var out []carBlock
	key := []byte(path)
	for at := snap.data; ; {
		data := snap.bytes(at)
		out = append(out, carBlock{at, data})
		nd, err := mst.NodeDataFromCBOR(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		below := nd.Left
		var entry []byte
		found := cid.Undef
		for i := range nd.Entries {
			e := &nd.Entries[i]
			entry = append(append([]byte(nil), entry[:e.PrefixLen]...), e.KeySuffix...)
			order := bytes.Compare(entry, key)
			if order == 0 {
				found = e.Value
			}
			if order >= 0 {
				break
			}
			below = e.Right
		}
		if found.Defined() {
			return append(out, carBlock{found, snap.bytes(found)}), nil
		}
		if below == nil {
			return out, nil
		}
		at = *below
	}
}

// getRepo is com.atproto.sync.getRepo: the blocks of one snapshot that came after
// the rev since, newest first.
func (s *Server) getRepo(r *request) (any, error) {
	snap, err := s.syncTarget(r)
	if err != nil {
		return nil, err
	}
	since := r.params.Get("since")
	var list []block
	snap.blocks.Ascend(func(b block) bool {
		if b.rev > since {
			list = append(list, b)
		}
		return true
	})
	sort.SliceStable(list, func(i, j int) bool { return list[i].rev > list[j].rev })
	r.w.Header().Set("Content-Type", carType)
	if err := writeBlocks(r, snap.commit, list); err != nil {
		klog.FromContext(r.ctx).V(4).Info("Embedded PDS: export was not read to its end", "err", err)
	}
	return handled{}, nil
}

// writeBlocks streams a CAR.
func writeBlocks(r *request, root cid.Cid, list []block) error {
	car, err := newCAR(r.w, root)
	if err != nil {
		return err
	}
	for _, b := range list {
		c, err := cid.Cast([]byte(b.key))
		if err != nil {
			return err
		}
		if err := car.put(c, b.data); err != nil {
			return err
		}
	}
	return nil
}

// getRepoStatus is com.atproto.sync.getRepoStatus.
func (s *Server) getRepoStatus(r *request) (any, error) {
	did := r.params.Get("did")
	if err := checkDID(did, "$.did"); err != nil {
		return nil, err
	}
	a, err := s.available(did, &credentials{admin: true})
	if err != nil {
		return nil, err
	}
	out := object{"did": a.DID, "active": true}
	if st := a.status(); st != "" {
		out["active"], out["status"] = false, st
	} else {
		out["rev"] = s.repository(a.DID).cur.Load().rev
	}
	return out, nil
}
