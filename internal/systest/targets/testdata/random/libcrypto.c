// libcrypto.c uses what libcrypto has, prints what is the same in each run, and verifies
// what is made at random.
#include <openssl/bn.h>
#include <openssl/cms.h>
#include <openssl/conf.h>
#include <openssl/core_names.h>
#include <openssl/dh.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/ts.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

static unsigned char data[20000], key[64], iv[64];
static BIO *out;

#define MUST(x) do { if ((long)(x) <= 0) { printf("failed: %s\n", #x); ERR_print_errors_fp(stdout); } } while (0)

static void hex(const char *name, const unsigned char *p, size_t n)
{
	unsigned char sum[32];
	EVP_Digest(p, n, sum, NULL, EVP_sha256(), NULL);
	printf("%s %zu", name, n);
	for (int i = 0; i < 8; i++)
		printf(" %02x%02x", sum[2 * i], sum[2 * i + 1]);
	puts("");
}

static void digest(EVP_MD *md, void *p)
{
	unsigned char sum[4096];
	unsigned n = 0;
	EVP_MD_CTX *c = EVP_MD_CTX_new(), *d = EVP_MD_CTX_new();
	if (EVP_DigestInit_ex2(c, md, NULL) == 1) {
		for (size_t at = 0, size = 1; at < sizeof data; at += size, size = size * 2 + 1)
			EVP_DigestUpdate(c, data + at, at + size < sizeof data ? size : sizeof data - at);
		EVP_MD_CTX_copy_ex(d, c), EVP_DigestFinal_ex(d, sum, &n), hex(EVP_MD_get0_name(md), sum, n);
		for (size_t at = 0; at < 300; at++)
			EVP_Digest(data + at, at, sum, &n, md, NULL), iv[at % 64] ^= sum[0];
	}
	EVP_MD_CTX_free(c), EVP_MD_CTX_free(d), ERR_clear_error();
}

static void cipher(EVP_CIPHER *e, void *p)
{
	static unsigned char enc[sizeof data + 64], dec[sizeof data + 64], tag[16];
	int aead = (EVP_CIPHER_get_flags(e) & EVP_CIPH_FLAG_AEAD_CIPHER) != 0, n = 0, m = 0, size = 4096, ok = 1, mode = EVP_CIPHER_get_mode(e);
	if (mode == EVP_CIPH_WRAP_MODE || mode == EVP_CIPH_XTS_MODE && !strstr(EVP_CIPHER_get0_name(e), "XTS") || strstr(EVP_CIPHER_get0_name(e), "HMAC"))
		return;
	for (int sealing = 1; sealing >= 0; sealing--) {
		EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
		unsigned char *to = sealing ? enc : dec;
		const unsigned char *from = sealing ? data : enc;
		int len = sealing ? size : n;
		ok = EVP_CipherInit_ex2(c, e, NULL, NULL, sealing, NULL);
		if (ok && aead && mode == EVP_CIPH_CCM_MODE)
			ok = EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, 16, sealing ? NULL : tag) && EVP_CipherInit_ex2(c, NULL, key, iv, sealing, NULL) && EVP_CipherUpdate(c, NULL, &m, NULL, len);
		else
			ok = ok && EVP_CipherInit_ex2(c, NULL, key, iv, sealing, NULL);
		if (ok && aead)
			ok = EVP_CipherUpdate(c, NULL, &m, data, 77) && (sealing || mode == EVP_CIPH_CCM_MODE || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, 16, tag));
		ok = ok && EVP_CipherUpdate(c, to, &n, from, len);
		if (ok && EVP_CipherFinal_ex(c, to + n, &m))
			n += m;
		else if (mode != EVP_CIPH_CCM_MODE)
			ok = 0;
		if (ok && sealing && aead)
			ok = EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, 16, tag), hex("tag", tag, 16), ok = 1;
		EVP_CIPHER_CTX_free(c);
		if (!ok)
			break;
		if (sealing)
			hex(EVP_CIPHER_get0_name(e), enc, n);
	}
	printf("%s %s\n", EVP_CIPHER_get0_name(e), ok ? n == size && !memcmp(dec, data, n) ? "opens" : "differs" : "not used");
	ERR_clear_error();
}

static void macs(void)
{
	static const char *all[][3] = {{"HMAC", "digest", "SHA256"}, {"HMAC", "digest", "SHA3-512"}, {"CMAC", "cipher", "AES-128-CBC"}, {"Poly1305"}, {"SipHash"}, {"KMAC-128"}, {"KMAC-256"}, {"BLAKE2BMAC"}, {"BLAKE2SMAC"}};
	for (int i = 0; i < 9; i++) {
		EVP_MAC *m = EVP_MAC_fetch(NULL, all[i][0], NULL);
		EVP_MAC_CTX *c = EVP_MAC_CTX_new(m);
		OSSL_PARAM params[2] = {OSSL_PARAM_END, OSSL_PARAM_END};
		unsigned char sum[128]; size_t n = 0;
		if (all[i][1])
			params[0] = OSSL_PARAM_construct_utf8_string(all[i][1], (char *)all[i][2], 0);
		MUST(EVP_MAC_init(c, key, i == 2 || i == 4 ? 16 : 32, params)); MUST(EVP_MAC_update(c, data, sizeof data)); MUST(EVP_MAC_final(c, sum, &n, sizeof sum));
		hex(all[i][0], sum, n), EVP_MAC_CTX_free(c), EVP_MAC_free(m);
	}
	unsigned char k[64];
	MUST(PKCS5_PBKDF2_HMAC("pass", 4, iv, 16, 300, EVP_sha512(), 64, k)); hex("PBKDF2", k, 64);
	MUST(EVP_PBE_scrypt("pass", 4, iv, 16, 64, 8, 1, 1 << 24, k, 64)); hex("scrypt", k, 64);
	static const char *kdfs[] = {"HKDF", "SSKDF", "X963KDF", "TLS1-PRF", "KBKDF", "SSHKDF"};
	for (int i = 0; i < 6; i++) {
		EVP_KDF *f = EVP_KDF_fetch(NULL, kdfs[i], NULL); EVP_KDF_CTX *c = EVP_KDF_CTX_new(f);
		OSSL_PARAM p[] = {OSSL_PARAM_construct_utf8_string("digest", "SHA256", 0), OSSL_PARAM_construct_octet_string(i == 3 ? "secret" : "key", key, 32), OSSL_PARAM_construct_octet_string(i == 3 ? "seed" : "salt", iv, 16), OSSL_PARAM_construct_octet_string("info", "info", 4),
			OSSL_PARAM_construct_utf8_string(i == 5 ? "type" : "mac", i == 5 ? "A" : "HMAC", 0), OSSL_PARAM_construct_octet_string("xcghash", iv, 32), OSSL_PARAM_construct_octet_string("session_id", iv, 32), OSSL_PARAM_END};
		printf("%s %d\n", kdfs[i], EVP_KDF_derive(c, k, 48, p)), hex(kdfs[i], k, 48), EVP_KDF_CTX_free(c), EVP_KDF_free(f), ERR_clear_error();
	}
}

static EVP_PKEY *keys[16];
static const char *names[] = {"RSA", "P-256", "P-384", "P-521", "secp256k1", "sect233r1", "brainpoolP256r1", "ED25519", "ED448", "X25519", "X448", "ffdhe2048", "SM2"};

static void pkeys(void)
{
	for (int i = 0; i < 13; i++) {
		EVP_PKEY *k = i == 0 ? EVP_RSA_gen(1024) : i < 7 ? EVP_EC_gen(names[i]) : i < 11 ? EVP_PKEY_Q_keygen(NULL, NULL, names[i]) : i == 12 ? EVP_PKEY_Q_keygen(NULL, NULL, "SM2") : NULL;
		if (i == 11) {
			EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_from_name(NULL, "DH", NULL); OSSL_PARAM p[] = {OSSL_PARAM_construct_utf8_string("group", "ffdhe2048", 0), OSSL_PARAM_END};
			EVP_PKEY_keygen_init(c), EVP_PKEY_CTX_set_params(c, p), EVP_PKEY_generate(c, &k), EVP_PKEY_CTX_free(c);
		}
		keys[i] = k;
		MUST(k != NULL);
		if (!k)
			continue;
		unsigned char sig[1024], again[1024]; size_t n = sizeof sig;
		printf("%s: %d bits, %d bytes\n", names[i], EVP_PKEY_get_bits(k), EVP_PKEY_get_size(k));
		if (i < 9 || i == 12) {
			EVP_MD_CTX *c = EVP_MD_CTX_new(), *v = EVP_MD_CTX_new();
			const EVP_MD *md = i == 7 || i == 8 ? NULL : i == 12 ? EVP_sm3() : EVP_sha256();
			MUST(EVP_DigestSignInit(c, NULL, md, NULL, k)); MUST(EVP_DigestSign(c, sig, &n, data, 500)); MUST(EVP_DigestVerifyInit(v, NULL, md, NULL, k)); MUST(EVP_DigestVerify(v, sig, n, data, 500));
			EVP_MD_CTX_free(c), EVP_MD_CTX_free(v);
		}
		if (i > 0 && i < 7 || i > 8 && i < 12) {
			EVP_PKEY_CTX *c = EVP_PKEY_CTX_new(k, NULL); size_t m = sizeof again; n = sizeof sig;
			MUST(EVP_PKEY_derive_init(c)); MUST(EVP_PKEY_derive_set_peer(c, k)); MUST(EVP_PKEY_derive(c, sig, &n)); MUST(EVP_PKEY_derive(c, again, &m)); printf("derived %d\n", n == m && !memcmp(sig, again, n)), EVP_PKEY_CTX_free(c);
		}
		if (i == 0 || i == 12)
			for (int pad = RSA_PKCS1_PADDING; pad <= RSA_PKCS1_OAEP_PADDING; pad += 3) {
				EVP_PKEY_CTX *c = EVP_PKEY_CTX_new(k, NULL), *d = EVP_PKEY_CTX_new(k, NULL); size_t m = sizeof again; n = sizeof sig;
				EVP_PKEY_encrypt_init(c), EVP_PKEY_decrypt_init(d), i == 0 && EVP_PKEY_CTX_set_rsa_padding(c, pad) && EVP_PKEY_CTX_set_rsa_padding(d, pad);
				MUST(EVP_PKEY_encrypt(c, sig, &n, data, 30)); MUST(EVP_PKEY_decrypt(d, again, &m, sig, n)); printf("decrypted %d\n", m == 30 && !memcmp(again, data, 30)), EVP_PKEY_CTX_free(c), EVP_PKEY_CTX_free(d);
			}
		BIO *b = BIO_new(BIO_s_mem()); char *p; MUST(PEM_write_bio_PrivateKey(b, k, i % 2 ? EVP_aes_128_cbc() : NULL, NULL, 0, NULL, "pass")); MUST(PEM_write_bio_PUBKEY(b, k)); EVP_PKEY *r = PEM_read_bio_PrivateKey(b, NULL, NULL, "pass"), *u = PEM_read_bio_PUBKEY(b, NULL, NULL, NULL);
		printf("read again %d %d\n", EVP_PKEY_eq(r, k), EVP_PKEY_eq(u, k)), EVP_PKEY_print_private(b, k, 0, NULL), EVP_PKEY_free(r), EVP_PKEY_free(u), BIO_free(b);
		EVP_PKEY_CTX *c = EVP_PKEY_CTX_new(k, NULL); printf("checked %d\n", EVP_PKEY_check(c)), EVP_PKEY_CTX_free(c), ERR_clear_error();
	}
}

static X509 *certificate(EVP_PKEY *k, X509 *issuer, EVP_PKEY *by, const char *name)
{
	X509 *x = X509_new(); X509_NAME *n = X509_get_subject_name(x); X509V3_CTX v;
	X509_set_version(x, 2), ASN1_INTEGER_set(X509_get_serialNumber(x), 77), ASN1_TIME_set_string(X509_getm_notBefore(x), "20200101000000Z"), ASN1_TIME_set_string(X509_getm_notAfter(x), "20900101000000Z"), X509_set_pubkey(x, k);
	X509_NAME_add_entry_by_txt(n, "C", MBSTRING_ASC, (unsigned char *)"DE", -1, -1, 0), X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_UTF8, (unsigned char *)name, -1, -1, 0), X509_set_issuer_name(x, issuer ? X509_get_subject_name(issuer) : n);
	X509V3_set_ctx(&v, issuer ? issuer : x, x, NULL, NULL, 0);
	static const char *ext[][2] = {{"basicConstraints", "critical,CA:TRUE"}, {"subjectAltName", "DNS:example.org,IP:10.0.0.1,email:a@b.c"}, {"keyUsage", "digitalSignature,keyCertSign,keyEncipherment"}, {"extendedKeyUsage", "emailProtection"}, {"subjectKeyIdentifier", "hash"}};
	for (int i = 0; i < 5; i++) { X509_EXTENSION *e = X509V3_EXT_conf(NULL, &v, ext[i][0], ext[i][1]); MUST(e != NULL); X509_add_ext(x, e, -1), X509_EXTENSION_free(e); }
	MUST(X509_sign(x, by, EVP_sha256()));
	return x;
}

static void certificates(void)
{
	X509 *ca = certificate(keys[1], NULL, keys[1], "ca"), *leaf = certificate(keys[0], ca, keys[1], "l\xc3\xa9""af");
	X509_STORE *s = X509_STORE_new(); X509_STORE_CTX *c = X509_STORE_CTX_new(); X509_STORE_add_cert(s, ca), X509_STORE_CTX_init(c, s, leaf, NULL), printf("verified %d %s\n", X509_verify_cert(c), X509_verify_cert_error_string(X509_STORE_CTX_get_error(c)));
	X509_NAME_print_ex(out, X509_get_subject_name(leaf), 0, XN_FLAG_RFC2253), BIO_puts(out, "\n"), X509_print_ex(out, leaf, 0, X509_FLAG_NO_PUBKEY | X509_FLAG_NO_SIGDUMP | X509_FLAG_NO_EXTENSIONS), printf("host %d %d\n", X509_check_host(leaf, "example.org", 0, 0, NULL), X509_check_host(leaf, "x.org", 0, 0, NULL));
	unsigned char *der = NULL; const unsigned char *p; int n = i2d_X509(leaf, &der); p = der; X509 *again = d2i_X509(NULL, &p, n); printf("der %d\n", X509_cmp(again, leaf)); BIO *null = BIO_new(BIO_s_null()); ASN1_parse_dump(null, der, n, 1, 0), X509_print(null, leaf), OPENSSL_free(der), X509_free(again);
	BIO *b = BIO_new_mem_buf(data, 1000), *o = BIO_new(BIO_s_mem()); char *got;
	CMS_ContentInfo *cms = CMS_sign(leaf, keys[0], NULL, b, CMS_BINARY); MUST(cms != NULL); X509_STORE_set_purpose(s, X509_PURPOSE_ANY); printf("cms %d\n", CMS_verify(cms, NULL, s, NULL, o, CMS_BINARY)), printf("%d\n", BIO_get_mem_data(o, &got) == 1000 && !memcmp(got, data, 1000)), CMS_ContentInfo_free(cms), BIO_reset(o), BIO_reset(b);
	STACK_OF(X509) *to = sk_X509_new_null(); sk_X509_push(to, leaf); cms = CMS_encrypt(to, b, EVP_aes_256_cbc(), CMS_BINARY); MUST(cms != NULL); MUST(CMS_decrypt(cms, keys[0], leaf, NULL, o, CMS_BINARY)); printf("%d\n", BIO_get_mem_data(o, &got) == 1000 && !memcmp(got, data, 1000)), CMS_ContentInfo_free(cms), BIO_reset(b), BIO_reset(o);
	PKCS7 *p7 = PKCS7_sign(leaf, keys[0], NULL, b, PKCS7_BINARY); MUST(p7 != NULL); printf("pkcs7 %d\n", PKCS7_verify(p7, NULL, s, NULL, o, PKCS7_BINARY)), PKCS7_free(p7);
	PKCS12 *p12 = PKCS12_create("x", "name", keys[0], leaf, NULL, 0, 0, 0, 0, 0); MUST(p12 != NULL); EVP_PKEY *k = NULL; X509 *x = NULL; printf("pkcs12 %d %d\n", PKCS12_parse(p12, "x", &k, &x, NULL), k && EVP_PKEY_eq(k, keys[0])), PKCS12_free(p12), EVP_PKEY_free(k), X509_free(x);
	X509_REQ *r = X509_REQ_new(); X509_REQ_set_pubkey(r, keys[7]); MUST(X509_REQ_sign(r, keys[7], NULL)); printf("req %d\n", X509_REQ_verify(r, keys[7])), X509_REQ_free(r);
	X509_CRL *l = X509_CRL_new(); X509_REVOKED *v = X509_REVOKED_new(); X509_REVOKED_set_serialNumber(v, X509_get_serialNumber(leaf)), X509_CRL_add0_revoked(l, v), X509_CRL_set_issuer_name(l, X509_get_subject_name(ca)), X509_CRL_sort(l); MUST(X509_CRL_sign(l, keys[1], EVP_sha384())); printf("crl %d %d\n", X509_CRL_verify(l, keys[1]), X509_CRL_get0_by_cert(l, &v, leaf)), X509_CRL_free(l);
	OCSP_CERTID *id = OCSP_cert_to_id(NULL, leaf, ca); OCSP_REQUEST *q = OCSP_REQUEST_new(); OCSP_request_add0_id(q, id); MUST(OCSP_request_sign(q, leaf, keys[0], EVP_sha256(), NULL, 0)); printf("ocsp %d\n", OCSP_request_onereq_count(q)), OCSP_REQUEST_free(q);
	sk_X509_free(to), BIO_free(b), BIO_free(o), BIO_free(null), X509_STORE_free(s), X509_STORE_CTX_free(c), X509_free(ca), X509_free(leaf);
}

static void numbers(void)
{
	BN_CTX *c = BN_CTX_new(); BIGNUM *a = NULL, *b = NULL, *m = NULL, *r = BN_new(), *t = BN_new(), *q = BN_new();
	BN_hex2bn(&a, "123456789abcdef0fedcba9876543210aaaabbbbccccddddeeeeffff0000111122223333444455556666777788889999"), BN_dec2bn(&b, "98765432109876543210987654321098765432109876543210"), BN_hex2bn(&m, "FFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF");
	for (int i = 0; i < 40; i++) {
		BN_mul(r, a, b, c), BN_sqr(t, a, c), BN_add(r, r, t), BN_sub(r, r, b), BN_div(q, t, r, b, c), BN_mod_exp(q, a, b, m, c), BN_mod_inverse(t, a, m, c), BN_gcd(r, a, b, c), BN_lshift(r, r, i * 3), BN_rshift(t, t, i), BN_mod_mul(r, r, t, m, c), BN_mod_sqrt(t, BN_value_one(), m, c), BN_add_word(b, 7), BN_mul_word(b, 3), BN_kronecker(a, m, c);
		char *d = BN_bn2dec(r), *h = BN_bn2hex(q); printf("%s %s %d\n", d, h, BN_num_bits(b)), OPENSSL_free(d), OPENSSL_free(h), BN_copy(a, i % 3 ? q : b), BN_set_bit(a, 900 - i);
	}
	printf("%d %d %d\n", BN_check_prime(m, c, NULL), BN_generate_prime_ex(r, 128, 0, NULL, NULL, NULL), BN_check_prime(r, c, NULL)); MUST(BN_rand(r, 300, 0, 0)); MUST(BN_is_bit_set(m, 3));
	EC_GROUP *g = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1); EC_POINT *p = EC_POINT_new(g); EC_POINT_mul(g, p, b, NULL, NULL, c); char *h = EC_POINT_point2hex(g, p, POINT_CONVERSION_COMPRESSED, c); printf("%s %d\n", h, EC_POINT_is_on_curve(g, p, c)), OPENSSL_free(h), EC_POINT_free(p), EC_GROUP_free(g);
	BN_free(a), BN_free(b), BN_free(m), BN_free(r), BN_free(t), BN_free(q), BN_CTX_free(c);
	unsigned char text[3000], back[3000]; int n = EVP_EncodeBlock(text, data, 2000); hex("base64", text, n), n = EVP_DecodeBlock(back, text, n), printf("%d\n", !memcmp(back, data, 2000));
	MUST(RAND_bytes(text, 100)); MUST(RAND_priv_bytes(text, 100)); printf("%s %s %d\n", OBJ_nid2sn(NID_sha256), OBJ_nid2ln(OBJ_txt2nid("1.2.840.113549.1.1.1")), OBJ_sn2nid("CN")); ERR_raise(ERR_LIB_EVP, EVP_R_BAD_DECRYPT), printf("%s\n", ERR_reason_error_string(ERR_get_error()));
	NCONF_free(NULL); CONF *conf = NCONF_new(NULL); BIO *b64 = BIO_new_mem_buf("[s]\nk = v$x\nx = 1\n", -1); long line; printf("%d %s\n", NCONF_load_bio(conf, b64, &line), NCONF_get_string(conf, "s", "x") ? "got" : "none"), NCONF_free(conf), BIO_free(b64), ERR_clear_error();
	ASN1_TIME *at = ASN1_TIME_new(); ASN1_TIME_set(at, 1700000000), ASN1_TIME_print(out, at), BIO_printf(out, " %d %s\n", ASN1_TIME_to_generalizedtime(at, NULL) != NULL, "formatted"), ASN1_TIME_free(at);
}

int main(void)
{
	for (unsigned i = 0; i < sizeof data; i++)
		data[i] = i * i % 251;
	for (int i = 0; i < 64; i++)
		key[i] = i * 5 + 1, iv[i] = i * 3;
	out = BIO_new_fp(stdout, BIO_NOCLOSE);
	OSSL_PROVIDER_load(NULL, "default"), OSSL_PROVIDER_load(NULL, "legacy"), ERR_clear_error();
	EVP_MD_do_all_provided(NULL, digest, NULL), EVP_CIPHER_do_all_provided(NULL, cipher, NULL);
	macs(), numbers(), pkeys(), certificates(), fflush(stdout);
	for (int i = 0; i < 16; i++)
		EVP_PKEY_free(keys[i]);
	BIO_free(out);
	return 0;
}
