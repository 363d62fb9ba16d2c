package dev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/credentials"
	"socialweb.computer/infra-apiserver/internal/devpds"
	"socialweb.computer/infra-apiserver/internal/repos"
)

// account of the embedded PDS. Its name can't be resolved in the real network.
const embeddedHandle = "alice.test"

// PDSInfo is what pds.json holds: enough for a script to read and write the
// repository without us.
type PDSInfo struct {
	// URL of the PDS.
	URL string `json:"url"`
	// DID and Handle of the account.
	DID    string `json:"did"`
	Handle string `json:"handle,omitempty"`
	// PasswordFile holds the account's password.
	PasswordFile string `json:"passwordFile"`
}

// pds is the PDS of a running dev.
type pds struct {
	PDSInfo
	creds atproto.Credentials
	// plc is the directory of the account; "": the public one. ids and keys take
	// its place where there is none.
	plc  string
	ids  repos.Identities
	keys atproto.KeyResolver
	// close ends the embedded one.
	close func() error
}

// openPDS starts the embedded PDS, or logs in to the one of the options. The
// caller must close it.
func openPDS(ctx context.Context, o *Options) (*pds, error) {
	if o.PDS != "" {
		return loginPDS(ctx, o)
	}
	s, err := devpds.Open(devpds.Config{
		Dir:        filepath.Join(o.DataDir, "pds"),
		ListenAddr: net.JoinHostPort("127.0.0.1", strconv.Itoa(o.PDSPort)),
		Accounts:   []devpds.AccountConfig{{Handle: embeddedHandle}},
	})
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, portTaken(o.PDSPort, "--pds-port")
	}
	if err != nil {
		return nil, err
	}
	a := s.Accounts()[0]
	return &pds{
		PDSInfo: PDSInfo{URL: s.URL(), DID: a.DID, Handle: a.Handle, PasswordFile: absolute(a.PasswordFile)},
		creds:   atproto.Credentials{Identifier: a.DID, Password: a.Password},
		plc:     s.URL(),
		close:   s.Close,
	}, nil
}

// loginPDS logs in to somebody's PDS. A PDS that can't be reached is no reason
// not to start, if an earlier start learnt whose account it is.
func loginPDS(ctx context.Context, o *Options) (*pds, error) {
	password, err := readPassword(o.PasswordFile)
	if err != nil {
		return nil, err
	}
	host, err := atproto.NormalizeHost(o.PDS)
	if err != nil {
		return nil, fmt.Errorf("--pds: %w", err)
	}
	p := &pds{
		PDSInfo: PDSInfo{URL: host, Handle: handleIn(o.Identifier), PasswordFile: absolute(o.PasswordFile)},
		creds:   atproto.Credentials{Identifier: o.Identifier, Password: password},
		plc:     o.PLC,
		close:   func() error { return nil },
	}
	// An account of a PDS on loopback is in no directory that we know of.
	trust := o.PLC == "" && isLoopback(host)
	client, err := atproto.Login(ctx, host, p.creds, atproto.LoginOptions{AllowPrivate: true, TrustPDS: trust, PLCURL: o.PLC})
	switch {
	case err == nil:
		p.DID = client.DID()
	case errors.Is(err, atproto.ErrUnavailable):
		if p.DID = rememberedDID(o.DataDir, host); p.DID == "" {
			return nil, err
		}
	case errors.Is(err, atproto.ErrUnauthorized):
		return nil, fmt.Errorf("%w; --password-file must hold the password, or an app password, of --identifier", err)
	default:
		return nil, err
	}
	if trust {
		if p.ids, p.keys, err = fromPDS(host, p.DID); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// rememberedDID is the account that an earlier start found at the PDS.
func rememberedDID(dataDir, host string) string {
	b, err := os.ReadFile(filepath.Join(dataDir, "pds.json"))
	if err != nil {
		return ""
	}
	var info PDSInfo
	if json.Unmarshal(b, &info) != nil || info.URL != host {
		return ""
	}
	return info.DID
}

// write leaves pds.json for scripts, and the credentials for the server.
func (p *pds) write(dataDir string) error {
	b, err := json.MarshalIndent(p.PDSInfo, "", "  ")
	if err != nil {
		return fmt.Errorf("pds.json: %w", err)
	}
	dir := filepath.Join(credentialsDir(dataDir), workspace, repoName)
	return errors.Join(
		writePrivate(filepath.Join(dataDir, "pds.json"), append(b, '\n')),
		// By DID, and with the PDS, so that logging in asks no directory: it need not
		// know the account, or may be away.
		writePrivate(filepath.Join(dir, credentials.IdentifierKey), []byte(p.DID+"\n")),
		writePrivate(filepath.Join(dir, credentials.PasswordKey), []byte(p.creds.Password+"\n")),
		writePrivate(filepath.Join(dir, credentials.PDSKey), []byte(p.URL+"\n")),
	)
}

func credentialsDir(dataDir string) string { return filepath.Join(dataDir, "credentials") }

// handleIn is the identifier where it is a handle.
func handleIn(identifier string) string {
	if strings.HasPrefix(identifier, "did:") {
		return ""
	}
	return identifier
}

func isLoopback(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || (ip != nil && ip.IsLoopback())
}

// absolute is for files that name each other: a script may run anywhere.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
