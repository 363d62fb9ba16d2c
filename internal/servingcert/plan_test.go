package servingcert

import (
	"crypto/x509"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"socialweb.computer/infra-apiserver/internal/certpair"
)

func TestPlan(t *testing.T) {
	s := fresh(t, epoch)
	for _, c := range []struct {
		name      string
		at        time.Duration
		published bool
		want      []change
	}{
		{"at once", 0, true, nil},
		{"before anything is due", leafLifetime - leafRenewal - time.Hour, true, nil},
		{"the leaf is due", leafLifetime - leafRenewal + time.Hour, true, []change{madeLeaf}},
		{"due, and nobody knows the authority yet", leafLifetime - leafRenewal + time.Hour, false, nil},
		{"expired, and nobody knows the authority yet", leafLifetime + time.Hour, false, []change{madeLeaf}},
		{"by a clock that is behind", -time.Minute, true, nil},
		{"a year later", 365 * day, true, []change{madeLeaf}},
		{"the authority is due", authorityLifetime - authorityRenewal + time.Hour, true, []change{madeAuthority, madeLeaf}},
		{"everything expired", authorityLifetime + day, true, []change{forgot, madeAuthority, madeLeaf}},
	} {
		next, changes := mustPlan(t, s, epoch.Add(c.at), names, c.published)
		if diff := cmp.Diff(c.want, changes); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", c.name, diff)
		}
		if err := verify(next, next.leaf, epoch.Add(c.at)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A good leaf moves to a new authority only after that was trusted for a while.
func TestAuthorityOverlaps(t *testing.T) {
	s := fresh(t, epoch)
	now := epoch.Add(authorityLifetime - authorityRenewal - day)
	s, _ = mustPlan(t, s, now, names, true) // a fresh leaf
	old := s.leaf
	now = now.Add(day + time.Hour)
	s, changes := mustPlan(t, s, now, names, true)
	if diff := cmp.Diff([]change{madeAuthority}, changes); diff != "" || len(s.trusted) != 2 || s.leaf != old {
		t.Fatalf("%s, %d authorities", diff, len(s.trusted))
	}
	for _, published := range []bool{true, false} {
		if _, changes := mustPlan(t, s, now.Add(overlap-time.Second), names, published); len(changes) > 0 {
			t.Errorf("too early: %v", changes)
		}
	}
	if _, changes := mustPlan(t, s, now.Add(day), names, false); len(changes) > 0 {
		t.Errorf("though nobody knows the authority: %v", changes)
	}
	moved, changes := mustPlan(t, s, now.Add(overlap+time.Second), names, true)
	if diff := cmp.Diff([]change{madeLeaf}, changes); diff != "" || !moved.leaf.SignedBy(s.signer.Cert) || len(moved.trusted) != 2 {
		t.Errorf("%s, %d authorities", diff, len(moved.trusted))
	}
	if err := verify(moved, old, now.Add(overlap+time.Second)); err != nil {
		t.Errorf("a replica that is late: %v", err)
	}
}

// TestNobodyLosesTrust goes through twenty years, in steps of random length: no
// leaf that hasn't expired ever lacks an authority in the bundle, and never is
// there nothing to serve.
func TestNobodyLosesTrust(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	now, s := epoch, fresh(t, epoch)
	leaves, authorities := []*certpair.Pair{s.leaf}, 1
	for now.Before(epoch.Add(20 * 365 * day)) {
		now = now.Add(time.Duration(random.Int64N(int64(40 * day))))
		for range random.IntN(3) + 1 { // looks, minutes apart
			next, changes := mustPlan(t, s, now, names, random.IntN(4) > 0)
			if slices.Contains(changes, madeAuthority) {
				authorities++
			}
			if next.leaf != s.leaf {
				leaves = append(leaves, next.leaf)
			}
			s = next
			if !serves(s.leaf, now, names) { // until the next look it may expire
				t.Fatalf("%s: nothing to serve", now)
			}
			now = now.Add(overlap)
		}
		leaves = slices.DeleteFunc(leaves, func(l *certpair.Pair) bool { return !now.Before(l.Cert.NotAfter) })
		for _, l := range leaves {
			if err := verify(s, l, now); err != nil {
				t.Fatalf("%s: the leaf of %s: %v", now, l.Cert.NotBefore, err)
			}
		}
	}
	if authorities < 10 || authorities > 20 {
		t.Errorf("%d authorities in twenty years", authorities)
	}
}

// Names are added to a good leaf, so that replicas with different flags don't take
// turns; the next renewal drops what nobody asks for.
func TestNames(t *testing.T) {
	s := fresh(t, epoch)
	other := []string{"other.infra.svc"}
	both, changes := mustPlan(t, s, epoch.Add(time.Hour), other, true)
	if diff := cmp.Diff([]change{madeLeaf}, changes); diff != "" {
		t.Fatal(diff)
	}
	if !serves(both.leaf, epoch.Add(time.Hour), append(other, names...)) {
		t.Errorf("names %v", both.leaf.Cert.DNSNames)
	}
	if _, changes := mustPlan(t, both, epoch.Add(2*time.Hour), names, true); len(changes) > 0 {
		t.Errorf("the first replica again: %v", changes)
	}
	renewed, _ := mustPlan(t, both, epoch.Add(leafLifetime-leafRenewal+2*time.Hour), other, true)
	if diff := cmp.Diff(other, renewed.leaf.Cert.DNSNames); diff != "" {
		t.Errorf("after a renewal: %s", diff)
	}
}

// What is broken is made anew, and what is trusted stays so.
func TestBrokenSecret(t *testing.T) {
	good := &corev1.Secret{Data: map[string][]byte{"theirs": []byte("x")}}
	if err := fresh(t, epoch).encodeInto(good); err != nil {
		t.Fatal(err)
	}
	if _, changes := mustPlan(t, decode(good), epoch, names, true); len(changes) > 0 || string(good.Data["theirs"]) != "x" {
		t.Fatalf("a good one: %v", changes)
	}
	stranger := &corev1.Secret{}
	if err := fresh(t, epoch).encodeInto(stranger); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name        string
		key         string
		value       []byte
		want        []change
		authorities int
	}{
		{"no leaf", LeafCert, nil, []change{madeLeaf}, 1},
		{"half a leaf", LeafCert, good.Data[LeafCert][:40], []change{madeLeaf}, 1},
		{"another's leaf key", LeafKey, stranger.Data[LeafKey], []change{madeLeaf}, 1},
		{"no authority key", AuthorityKey, nil, []change{madeAuthority}, 2},
		{"another's authority key", AuthorityKey, stranger.Data[AuthorityKey], []change{madeAuthority}, 2},
		{"no authority", Bundle, nil, []change{madeAuthority, madeLeaf}, 1},
		{"another authority", Bundle, stranger.Data[Bundle], []change{madeAuthority, madeLeaf}, 2},
	} {
		secret := good.DeepCopy()
		secret.Data[c.key] = c.value
		next, changes := mustPlan(t, decode(secret), epoch, names, true)
		if diff := cmp.Diff(c.want, changes); diff != "" || len(next.trusted) != c.authorities {
			t.Errorf("%s: %s, %d authorities", c.name, diff, len(next.trusted))
		}
		if err := verify(next, next.leaf, epoch); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	s := decode(good)
	for range 2 * maxTrusted {
		s.signer = nil
		s, _ = mustPlan(t, s, epoch, names, true)
	}
	if len(s.trusted) != maxTrusted {
		t.Errorf("%d authorities", len(s.trusted))
	}
}

// verify tells whether a client that trusts the bundle of s accepts leaf.
func verify(s state, leaf *certpair.Pair, now time.Time) error {
	roots := x509.NewCertPool()
	for _, ca := range s.trusted {
		roots.AddCert(ca)
	}
	_, err := leaf.Cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now})
	return err
}
