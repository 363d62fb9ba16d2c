// Package kubectl tests the server with the real kubectl, on the embedded PDS
// and on the reference PDS.
package kubectl
