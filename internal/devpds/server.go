package devpds

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/bluesky-social/indigo/atproto/atcrypto"
	"github.com/ipfs/go-cid"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// How many events stay in memory: all that a test may want where there is no
// other store, else a tail.
const (
	keepMemory = 50_000
	keepDisk   = 1_000
)

// Server is a running PDS. Its methods are safe for concurrent use.
type Server struct {
	config Config
	clock  clock.PassiveClock
	secret []byte
	store  store
	log    *eventLog
	limits *limiters

	// mu guards the index of accounts, repositories and tokens; never held while
	// the store writes.
	mu       sync.RWMutex
	accounts accountIndex
	repos    map[string]*repository
	tokens   map[string]refreshToken

	// publishMu is held from the numbering of events until they are published,
	// so that what becomes visible does so in the order of its seqs. It is taken
	// last, after a repository's lock or accountMu.
	publishMu sync.Mutex
	// accountMu is held by whoever changes accounts or tokens.
	accountMu sync.Mutex

	lastRKey string // guarded by mu

	configured []Account
	url        string
	http       *http.Server
	closeOnce  sync.Once
	closeErr   error

	// life ends when Close is called.
	life context.Context
	end  context.CancelFunc
	// enterMu makes counting in running and the end of life exclude each other.
	enterMu sync.Mutex
	// running counts requests and goroutines; Close waits for them.
	running sync.WaitGroup
}

// Open opens the data, makes the accounts that are missing, and serves until
// Close.
func Open(c Config) (*Server, error) {
	c = c.withDefaults()
	s := &Server{
		config: c, clock: c.Clock, limits: newLimiters(c.Limits, c.Clock),
		accounts: accountIndex{byDID: map[string]*account{}, byHandle: map[string]*account{}},
		repos:    map[string]*repository{}, tokens: map[string]refreshToken{},
	}
	s.life, s.end = context.WithCancel(context.Background())
	if s.config.AdminPassword == "" {
		s.config.AdminPassword = randomText(26)
	}
	var err error
	keep := keepDisk
	if c.Memory {
		s.store, keep = memoryStore{}, keepMemory
	} else if s.store, err = openBolt(c.Dir); err != nil {
		return nil, err
	}
	if err := s.start(keep); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// start loads the data and begins to serve.
func (s *Server) start(keep int) error {
	data, err := s.store.load()
	if err != nil {
		return err
	}
	s.log = newEventLog(s.store, data, keep)
	if s.secret = data.secret; s.secret == nil {
		s.secret = make([]byte, 32)
		_, _ = rand.Read(s.secret) // never fails
		if err := s.store.apply(change{secret: s.secret}); err != nil {
			return err
		}
	}
	for _, t := range data.tokens {
		s.tokens[t.ID] = t
	}
	for _, a := range data.accounts {
		snap := data.repos[a.DID]
		if snap == nil {
			return fmt.Errorf("account %s has no repository", a.DID)
		}
		r, err := newRepository(a, snap, uint(len(s.repos)))
		if err != nil {
			return err
		}
		s.accounts.put(a)
		s.repos[a.DID] = r
	}
	if err := s.forgetOld(); err != nil {
		return err
	}
	if err := s.listen(); err != nil {
		return err
	}
	return s.configure()
}

// listen opens the listener and serves, unless the address is "-".
func (s *Server) listen() error {
	s.url = s.config.PublicURL
	if s.config.ListenAddr == "-" {
		return nil
	}
	ln, err := listenAgain(s.config)
	if err != nil {
		return err
	}
	if s.url == "" {
		_, port, err := net.SplitHostPort(ln.Addr().String())
		if err != nil {
			return errors.Join(fmt.Errorf("listen: %w", err), ln.Close())
		}
		s.url = "http://localhost:" + port
	}
	s.http = &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second}
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			klog.ErrorS(err, "Embedded PDS stopped serving", "url", s.url)
		}
	}()
	return nil
}

// configure makes the accounts of Config, and settles their passwords.
func (s *Server) configure() error {
	for _, want := range s.config.Accounts {
		file, password := "", want.Password
		if !s.config.Memory {
			file = passwordFile(s.config.Dir, want.Handle)
			kept, err := readPassword(file)
			if err != nil {
				return err
			}
			password = or(password, kept)
		}
		password = or(password, "pw-"+randomText(26))
		if file != "" {
			if err := writePassword(file, password); err != nil {
				return err
			}
		}
		a := s.findAccount(want.Handle)
		var err error
		switch {
		case a == nil:
			email := strings.Replace(want.Handle, ".", "@example.", 1)
			a, err = s.createAccount(context.Background(), want.Handle, email, password)
		case !a.Password.matches(password):
			a, err = s.setPassword(a.DID, password)
		}
		if err != nil {
			return fmt.Errorf("account %s: %w", want.Handle, err)
		}
		s.configured = append(s.configured, Account{Handle: a.Handle, DID: a.DID, Password: password, PasswordFile: file})
	}
	return nil
}

// URL that clients call, without a slash at the end. It is also the did:plc
// directory of its accounts: GET URL/DID.
func (s *Server) URL() string { return s.url }

// Accounts that Config named, in its order.
func (s *Server) Accounts() []Account { return append([]Account(nil), s.configured...) }

// AdminPassword of com.atproto.admin.* with HTTP Basic, user "admin".
func (s *Server) AdminPassword() string { return s.config.AdminPassword }

// Close stops serving, ends the firehose connections and releases the data.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		s.enterMu.Lock()
		s.end()
		s.enterMu.Unlock()
		var err error
		if s.http != nil {
			err = s.http.Close()
		}
		s.running.Wait()
		s.closeErr = errors.Join(err, s.store.close())
	})
	return s.closeErr
}

// enter counts a request, unless the server is closing.
func (s *Server) enter() bool {
	s.enterMu.Lock()
	defer s.enterMu.Unlock()
	if s.life.Err() != nil {
		return false
	}
	s.running.Add(1)
	return true
}

// publish makes a change with its events durable, then visible by calling
// visible, then tells the subscribers.
func (s *Server) publish(ctx context.Context, c change, messages []message, visible func()) error {
	s.publishMu.Lock()
	defer s.publishMu.Unlock()
	last, _, _ := s.log.state()
	now := s.clock.Now()
	for i, m := range messages {
		seq := last + uint64(i) + 1
		frame, err := m(int64(seq), formatTime(now))
		if err != nil {
			return err
		}
		c.events = append(c.events, event{seq: seq, at: now, frame: frame})
	}
	if err := s.store.apply(c); err != nil {
		klog.FromContext(ctx).Error(err, "Embedded PDS could not write")
		return internalError()
	}
	visible()
	s.log.append(c.events)
	return nil
}

// forgetOld drops the events that are older than the back-fill window.
func (s *Server) forgetOld() error {
	last, forgotten, _ := s.log.state()
	first, found, err := s.log.firstSince(forgotten, s.clock.Now().Add(-s.config.Backfill))
	if err != nil {
		return err
	}
	through := last
	if found {
		through = first.seq - 1
	}
	if through <= forgotten {
		return nil
	}
	if err := s.store.apply(change{forget: through}); err != nil {
		return err
	}
	s.log.forget(through)
	return nil
}

// findAccount by handle or DID, whatever its status; nil if there is none.
func (s *Server) findAccount(handleOrDID string) *account {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.accounts.find(handleOrDID)
}

// repository of a DID that has an account.
func (s *Server) repository(did string) *repository {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.repos[did]
}

// createAccount makes an account with an empty repository.
func (s *Server) createAccount(ctx context.Context, handle, email, password string) (*account, error) {
	s.accountMu.Lock()
	defer s.accountMu.Unlock()
	if s.findAccount(handle) != nil {
		return nil, invalidRequest("Handle already taken: %s", handle)
	}
	key, err := atcrypto.GeneratePrivateKeyK256()
	if err != nil {
		return nil, fmt.Errorf("make signing key: %w", err)
	}
	pub, err := key.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("make signing key: %w", err)
	}
	a := &account{
		Handle: handle, Email: email, DID: newDID(pub.DIDKey(), handle),
		CreatedAt: s.nextCreatedAt(), SigningKey: key.Bytes(),
	}
	if a.Password, err = hashPassword(password, s.rounds()); err != nil {
		return nil, err
	}
	s.mu.RLock()
	clockID := uint(len(s.repos))
	s.mu.RUnlock()
	r, err := newRepository(a, newSnapshot(a.DID), clockID)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.load(ctx); err != nil {
		return nil, err
	}
	return a, s.buildInitial(ctx, r, a)
}

// nextCreatedAt is now, but at least a millisecond after the newest account, so
// that listRepos shows accounts in the order of their creation; accountMu is held.
func (s *Server) nextCreatedAt() time.Time {
	s.mu.RLock()
	defer s.mu.RUnlock()
	at := s.clock.Now().Truncate(time.Millisecond)
	for _, a := range s.accounts.byDID {
		if !at.After(a.CreatedAt) {
			at = a.CreatedAt.Add(time.Millisecond)
		}
	}
	return at
}

// buildInitial makes the first commit of a new account, with its events, in the
// order of the reference PDS: #identity, #account, #commit, #sync.
func (s *Server) buildInitial(ctx context.Context, r *repository, a *account) error {
	cur := r.cur.Load()
	root, err := r.tree.RootCID()
	if err != nil {
		return fmt.Errorf("encode MST: %w", err)
	}
	nd := r.tree.Root.NodeData()
	node, _, err := nd.Bytes()
	if err != nil {
		return fmt.Errorf("encode MST node: %w", err)
	}
	d := newDraft(cur, nextTID(s.clock.Now(), r.clockID, ""))
	commit, data, err := r.sign(*root, d.next.rev)
	if err != nil {
		return err
	}
	d.put(commit, data)
	d.put(*root, node)
	d.next.commit, d.next.data = commit, *root
	d.change.commit, d.change.rev = commit, d.next.rev
	messages, err := s.commitMessages(cur, d.next, nil, []carBlock{{commit, data}, {*root, node}})
	if err != nil {
		return err
	}
	sync, err := syncMessage(d.next)
	if err != nil {
		return err
	}
	messages = append(append([]message{identityMessage(a), accountMessage(a.DID, "")}, messages...), sync)
	return s.publish(ctx, change{accounts: []*account{a}, repo: &d.change}, messages, func() {
		r.cur.Store(d.next)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.accounts.put(a)
		s.repos[a.DID] = r
	})
}

// updateAccount replaces an account by what edit makes of a copy, with an event.
func (s *Server) updateAccount(ctx context.Context, did string, edit func(*account) ([]message, error)) (*account, error) {
	s.accountMu.Lock()
	defer s.accountMu.Unlock()
	old := s.findAccount(did)
	if old == nil {
		return nil, badRequest("AccountNotFound", "Account not found")
	}
	a := old.clone()
	messages, err := edit(a)
	if err != nil {
		return nil, err
	}
	return a, s.publish(ctx, change{accounts: []*account{a}}, messages, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.accounts.put(a)
	})
}

// setPassword of an account.
func (s *Server) setPassword(did, password string) (*account, error) {
	hash, err := hashPassword(password, s.rounds())
	if err != nil {
		return nil, err
	}
	return s.updateAccount(context.Background(), did, func(a *account) ([]message, error) {
		a.Password = hash
		return nil, nil
	})
}

// rounds of password hashing.
func (s *Server) rounds() int {
	if s.config.Memory {
		return roundsMemory
	}
	return roundsDisk
}

// pathOf is the repository path of a record.
func pathOf(collection, rkey string) string { return collection + "/" + rkey }

// parseCID of a string that a request holds.
func parseCID(text, where string) (cid.Cid, error) {
	c, err := cid.Decode(text)
	if err != nil {
		return cid.Undef, invalidRequest("Invalid CID string (got %q) at %s", text, where)
	}
	return c, nil
}
