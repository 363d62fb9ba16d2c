package provider

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

const (
	// probeWorkspace is no workspace of anybody's: nothing is to be seen there.
	probeWorkspace = "kcp-init-probe"
	// probeTimeout bounds a call that a stranger makes.
	probeTimeout = 15 * time.Second
)

// checkStrangers calls our door as nobody. It has to be there, with a certificate that
// the shards believe, and to refuse.
func (o *Options) checkStrangers(ctx context.Context, r *Report) error {
	client, err := o.caller(nil)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	for _, u := range o.URLs {
		f, answered, err := ask(ctx, client, u)
		switch {
		case err != nil:
			return err
		case f == nil:
		case answered:
			r.fault(*f)
		default: // the shards may reach it where this program doesn't
			r.unknown(*f)
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

// ask one URL. An error is none of the server's.
func ask(ctx context.Context, client *http.Client, base string) (f *Finding, answered bool, err error) {
	url := fmt.Sprintf("%s/clusters/%s/apis/%s", base, probeWorkspace, v1alpha1.SchemeGroupVersion)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", base, err)
	}
	resp, err := client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		return unreachable(base, err), false, nil
	}
	defer resp.Body.Close() //nolint:errcheck // nothing of it is read
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return nil, true, nil
	case code < http.StatusMultipleChoices:
		return &Finding{
			fmt.Sprintf("%s answers whoever asks: %s without a certificate of a shard", base, resp.Status),
			"serve with --kcp-shard-client-ca-file, and let nothing in front of it show a shard's certificate for others",
		}, true, nil
	default:
		return &Finding{
			fmt.Sprintf("%s answers a stranger with %s, where this server says 401 or 403", base, resp.Status),
			"have the router send it to this server, with the path as it is, and serve with --kcp-shard-client-ca-file and the --kcp-path-prefix of --url",
		}, true, nil
	}
}

// unreachable tells why there was no answer.
func unreachable(base string, err error) *Finding {
	var unknown x509.UnknownAuthorityError
	var hostname x509.HostnameError
	switch {
	case strings.Contains(err.Error(), "tls: certificate required"), strings.Contains(err.Error(), "tls: bad certificate"):
		return nil // who has no certificate gets no answer at all
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
