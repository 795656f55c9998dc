package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"time"
)

// Certificates live as long as a cluster does: days at most.
const certificateLifetime = 365 * 24 * time.Hour

// An authority signs the certificates of one trust domain. The private key stays in memory:
// nothing can be signed after the supervisor has started the cluster.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// A keyPair is a certificate and its key, both PEM.
type keyPair struct {
	certificate, key []byte
}

func newAuthority(name string) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	template, err := certificateTemplate(pkix.Name{CommonName: name})
	if err != nil {
		return authority{}, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return authority{}, err
	}
	certificate, err := x509.ParseCertificate(der)
	return authority{certificate: certificate, key: key, pem: encodePEM("CERTIFICATE", der)}, err
}

// client signs the certificate by which a user of that name and those groups is known.
func (a authority) client(user string, groups ...string) (keyPair, error) {
	template, err := certificateTemplate(pkix.Name{CommonName: user, Organization: groups})
	if err != nil {
		return keyPair{}, err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(template)
}

// server signs a certificate for names and addresses. It may be used by a client too, since etcd
// dials itself with it.
func (a authority) server(name string, hosts ...string) (keyPair, error) {
	template, err := certificateTemplate(pkix.Name{CommonName: name})
	if err != nil {
		return keyPair{}, err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, host := range hosts {
		if address := net.ParseIP(host); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return a.sign(template)
}

func (a authority) sign(template *x509.Certificate) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return keyPair{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	return keyPair{certificate: encodePEM("CERTIFICATE", der), key: encodePEM("PRIVATE KEY", keyDER)}, err
}

// serviceAccountKey signs the tokens of service accounts; the API server verifies with it too.
func serviceAccountKey() ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return encodePEM("PRIVATE KEY", der), err
}

func certificateTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		// Clocks of a restored virtual machine jump backwards.
		NotBefore: now.Add(-24 * time.Hour),
		NotAfter:  now.Add(certificateLifetime),
	}, nil
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// write stores the pair as NAME.crt and NAME.key.
func (p keyPair) write(l layout, name string) error {
	if err := os.WriteFile(l.pki(name+".crt"), p.certificate, 0o600); err != nil {
		return err
	}
	return os.WriteFile(l.pki(name+".key"), p.key, 0o600)
}
