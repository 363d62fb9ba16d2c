//go:build e2e

package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/testhttp"
)

// side is one of the two APIs, with a connection of its own.
type side struct {
	host, path string
	client     *http.Client
}

func newSide(b *testing.B, config *rest.Config, path string) *side {
	b.Helper()
	return &side{config.Host, path, newClient(b, config)}
}

// newClient is client-go's, with connections of its own.
func newClient(b *testing.B, config *rest.Config) *http.Client {
	b.Helper()
	config = rest.CopyConfig(config)
	config.Dial = (&net.Dialer{Timeout: time.Minute}).DialContext // client-go shares connections between equal configs
	client, err := rest.HTTPClientFor(config)
	require.NoError(b, err)
	b.Cleanup(client.CloseIdleConnections)
	return client
}

// do answers with the body of a 200.
func (s *side) do(ctx context.Context, method, path string, patch []byte) ([]byte, error) {
	r := testhttp.Request{Method: method, Path: path, Kind: "application/merge-patch+json", Body: patch}
	a, err := testhttp.Client{HTTP: s.client, Server: s.host}.Do(ctx, r)
	if err == nil {
		err = a.Want(http.StatusOK)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", r, err)
	}
	return a.Body, err
}

func (s *side) get(ctx context.Context, name, query string) error {
	_, err := s.do(ctx, http.MethodGet, s.path+"/"+name+query, nil)
	return err
}

func (s *side) list(ctx context.Context, query string) ([]byte, error) {
	return s.do(ctx, http.MethodGet, s.path+query, nil)
}

func (s *side) patch(ctx context.Context, name, patch string) error {
	_, err := s.do(ctx, http.MethodPatch, s.path+"/"+name, []byte(patch))
	return err
}

// now is the resourceVersion from which a watch tells what is new.
func (s *side) now(b *testing.B) string {
	b.Helper()
	data, err := s.list(b.Context(), "?limit=1")
	require.NoError(b, err)
	var list struct {
		Metadata struct{ ResourceVersion string }
	}
	require.NoError(b, json.Unmarshal(data, &list))
	return list.Metadata.ResourceVersion
}

// watch opens a watch from a resourceVersion on. The stream ends with ctx.
func (s *side) watch(ctx context.Context, client *http.Client, rv string) (io.ReadCloser, error) {
	resp, err := testhttp.Client{HTTP: client, Server: s.host}.Open(ctx, testhttp.Request{Path: s.path + "?watch=true&timeoutSeconds=3600&resourceVersion=" + rv})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("watch: %s", resp.Status)
	}
	return resp.Body, nil
}
