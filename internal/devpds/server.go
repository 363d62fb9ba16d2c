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

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// How many events stay in memory: all that a test may want where there is no
// other store, else a tail.
const (
	keepMemory = 20_000
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
	ln, err := listenAgain(s.life, s.config)
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
	s.http = &http.Server{Handler: s.Handler(), ReadHeaderTimeout: time.Minute}
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
