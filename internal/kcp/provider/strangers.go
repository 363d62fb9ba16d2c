package provider

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/kcp/door"
)

const (
	// probeWorkspace is no workspace of anybody's: nothing is to be seen there.
	probeWorkspace = "kcp-init-probe"
	// probeTimeout bounds a call that a stranger makes.
	probeTimeout = 15 * time.Second
)

// LookAtDoor looks at URLs alone, as Init does it. It asks no kcp.
func LookAtDoor(ctx context.Context, o Options) (*Report, error) {
	r := &Report{}
	return r, o.checkDoor(ctx, r)
}

// checkDoor calls our door, as nobody and as a shard.
func (o *Options) checkDoor(ctx context.Context, r *Report) error {
	if err := o.checkStrangers(ctx, r); err != nil {
		return err
	}
	return o.checkShardCertificate(ctx, r)
}

// checkStrangers calls our door as nobody. It has to be there, with a certificate that
// the shards believe, and to refuse in its own words: another server that refuses is no
// door.
func (o *Options) checkStrangers(ctx context.Context, r *Report) error {
	client, err := o.caller(nil)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	for _, u := range o.URLs {
		if err := o.askAsStranger(ctx, client, u, r); err != nil {
			return err
		}
	}
	return nil
}

// caller of our door, with a certificate or without any identity. It believes the
// authorities alone.
func (o *Options) caller(shows *tls.Certificate) (*http.Client, error) {
	pem := o.Authorities
	if len(pem) == 0 {
		files := rest.CopyConfig(o.Config)
		if err := rest.LoadTLSFiles(files); err != nil {
			return nil, fmt.Errorf("authorities of --url: %w", err)
		}
		pem = files.CAData
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if shows != nil {
		config.Certificates = []tls.Certificate{*shows}
	}
	if len(pem) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("the authorities of --url hold no certificate")
		}
	}
	return &http.Client{
		Timeout:   probeTimeout,
		Transport: &http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // where it leads isn't our door
		},
	}, nil
}

// askAsStranger asks one URL. An error is none of the server's.
func (o *Options) askAsStranger(ctx context.Context, client *http.Client, base string, r *Report) error {
	a, err := ask(ctx, client, base+"/clusters/"+probeWorkspace+groupPath)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if wantsCertificate(err) {
			o.notSeen(r, base, "who shows no certificate gets no answer at all")
			return nil
		}
		r.unknown(*unreachable(base, err)) // the shards may reach it where this program doesn't
		return nil
	}
	switch {
	case a.code < http.StatusMultipleChoices:
		r.fault(Finding{
			fmt.Sprintf("%s answers whoever asks: %s without a certificate of a shard", base, a.status),
			"serve with --kcp-shard-client-ca-file, and let nothing in front of it show a shard's certificate for others",
		})
	case a.code != http.StatusUnauthorized && a.code != http.StatusForbidden:
		r.fault(Finding{
			fmt.Sprintf("%s answers a stranger with %s, where this server says 401 or 403", base, a.status),
			"have the router send it to this server, with the path as it is, and serve with --kcp-shard-client-ca-file and " + flagPrefix(base),
		})
	case door.Cause(a.failure) == door.CauseShardsOnly: // it is our door, and refuses
	case pathOf(base) != "" && a.failure != nil && strings.Contains(a.failure.Message, fmt.Sprintf("path %q", pathOf(base)+"/clusters/"+probeWorkspace+groupPath)):
		r.fault(Finding{
			base + " leads to a Kubernetes API server that has no door for shards there: to its RBAC it is a path like any other",
			"if it is this server, serve with --kcp-shard-client-ca-file and " + flagPrefix(base) + ", or give --url with the prefix that it has; if it is kcp, have a router send the path to this server",
		})
	default:
		o.notSeen(r, base, "what refuses strangers there, as it must, doesn't say that it is this server's door: "+a.status)
	}
	return nil
}

// notSeen notes that a stranger can't see our door. With a shard's certificate it is tried
// anyway.
func (o *Options) notSeen(r *Report, base, why string) {
	if o.ShardCertificate == nil {
		r.unknown(Finding{
			fmt.Sprintf("whether this server's door is at %s isn't known: %s", base, why),
			"it may be something before the door, which ends TLS; or serve has another --kcp-path-prefix, or no --kcp-shard-client-ca-file. A shard's certificate tells",
		})
	}
}

// pathOf a URL; "": it has none.
func pathOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return u.EscapedPath()
}

// flagPrefix is how this server has its door at a URL, if nothing before it changes paths.
func flagPrefix(base string) string { return fmt.Sprintf("--kcp-path-prefix=%q", pathOf(base)) }

// wantsCertificate tells whether there was no answer for want of a certificate.
func wantsCertificate(err error) bool {
	return strings.Contains(err.Error(), "tls: certificate required") || strings.Contains(err.Error(), "tls: bad certificate")
}

// unreachable tells why there was no answer.
func unreachable(base string, err error) *Finding {
	var unknown x509.UnknownAuthorityError
	var hostname x509.HostnameError
	switch {
	case errors.As(err, &unknown):
		return &Finding{
			base + " has a certificate of an unknown authority",
			"give its authorities with --url-ca-file, and the same to each shard with --shard-virtual-workspace-ca-file",
		}
	case errors.As(err, &hostname):
		return &Finding{fmt.Sprintf("%s has a certificate for other names: %v", base, hostname), "have it one for the host of --url"}
	}
	return &Finding{
		fmt.Sprintf("%s isn't to be reached from here: %v", base, err),
		"look from where the shards are; a shard whose calls don't arrive answers 502 for these kinds",
	}
}
