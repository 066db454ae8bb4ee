package kubetest

import (
	"crypto/rand"
	"net"
	"os"
	"path/filepath"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// credentials are what the API server proves itself with, and what it believes.
type credentials struct {
	certificate     []byte // PEM, its own authority included
	adminToken      string
	certificateFile string
	keyFile         string
	signingKeyFile  string // signs and verifies service account tokens
	tokenFile       string // static tokens: the admin's
}

// writeCredentials makes new ones in dir.
func writeCredentials(dir string) (credentials, error) {
	c := credentials{
		adminToken:      rand.Text(),
		certificateFile: filepath.Join(dir, "tls.crt"),
		keyFile:         filepath.Join(dir, "tls.key"),
		signingKeyFile:  filepath.Join(dir, "service-accounts.key"),
		tokenFile:       filepath.Join(dir, "tokens.csv"),
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return c, err
	}
	c.certificate = certificate
	signingKey, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return c, err
	}
	for path, content := range map[string][]byte{
		c.certificateFile: certificate,
		c.keyFile:         key,
		c.signingKeyFile:  signingKey,
		c.tokenFile:       []byte(c.adminToken + `,admin,admin,"system:masters"` + "\n"),
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return c, err
		}
	}
	return c, nil
}
