/* TLS 1.3 with a key that both ends have: each end proves the key, no certificate is used or accepted.
 *
 * Reading goes straight from the socket into OpenSSL's buffer. Writing goes into the connection's queue `out`: a frame of 64 KiB is four
 * records, and they leave in one call; and SSL_write never has to be repeated with the same bytes.
 */
#include "gateway.h"

#include <openssl/bio.h>
#include <openssl/err.h>

enum { RECORDS_OF_A_KEY = 1 << 23 }; /* AES-GCM is good for 2^24.5 records; RFC 8446, 5.5 */

static SSL_CTX *dials, *accepts;
static BIO_METHOD *into_queue;

static int queue_write(BIO *bio, const char *data, size_t bytes, size_t *written) {
    queue_push(&((struct connection *)BIO_get_data(bio))->out, data, bytes);
    *written = bytes;
    return 1;
}

static long queue_control(BIO *bio, int command, long number, void *pointer) {
    return command == BIO_CTRL_FLUSH;
}

static SSL_SESSION *session_of_key(SSL *ssl) {
    static const unsigned char aes_128_gcm_sha256[] = {0x13, 0x01};
    SSL_SESSION *session = SSL_SESSION_new();
    if (session && SSL_SESSION_set1_master_key(session, g.key, sizeof g.key) &&
        SSL_SESSION_set_cipher(session, SSL_CIPHER_find(ssl, aes_128_gcm_sha256)) && SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION))
        return session;
    SSL_SESSION_free(session);
    return NULL;
}

static int offer_key(SSL *ssl, const EVP_MD *digest, const unsigned char **identity, size_t *length, SSL_SESSION **session) {
    *identity = (const unsigned char *)g.name;
    *length = strlen(g.name);
    *session = session_of_key(ssl);
    return *session != NULL;
}

/* Whoever comes: all sites have one key. */
static int find_key(SSL *ssl, const unsigned char *identity, size_t length, SSL_SESSION **session) {
    *session = session_of_key(ssl);
    return *session != NULL;
}

static SSL_CTX *context(const SSL_METHOD *method) {
    SSL_CTX *context = SSL_CTX_new(method);
    if (!context || !SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) || !SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256"))
        fail("OpenSSL offers no TLS 1.3 with TLS_AES_128_GCM_SHA256.");
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_mode(context, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context, 1);
    return context;
}

void tls_prepare(void) {
    dials = context(TLS_client_method());
    SSL_CTX_set_verify(dials, SSL_VERIFY_PEER, NULL); /* no authority is known: a certificate in place of the key is refused */
    accepts = context(TLS_server_method());
    SSL_CTX_set_psk_use_session_callback(dials, offer_key);
    SSL_CTX_set_psk_find_session_callback(accepts, find_key);
    into_queue = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "queue");
    if (!into_queue || !BIO_meth_set_write_ex(into_queue, queue_write) || !BIO_meth_set_ctrl(into_queue, queue_control))
        fail("OpenSSL cannot be prepared.");
}

bool tls_open(struct connection *connection, bool is_server) {
    SSL *ssl = SSL_new(is_server ? accepts : dials);
    BIO *from = BIO_new_socket(connection->fd, BIO_NOCLOSE), *to = BIO_new(into_queue);
    if (!ssl || !from || !to) {
        SSL_free(ssl), BIO_free(from), BIO_free(to);
        return false;
    }
    BIO_set_data(to, connection);
    BIO_set_init(to, 1);
    SSL_set_bio(ssl, from, to);
    is_server ? SSL_set_accept_state(ssl) : SSL_set_connect_state(ssl);
    connection->ssl = ssl;
    return true;
}

int tls_shake(struct connection *connection) {
    ERR_clear_error();
    int done = SSL_do_handshake(connection->ssl);
    if (done == 1) {
        if (!SSL_session_reused(connection->ssl)) /* true for a shared key: else the other end has proven nothing */
            return -1;
        if (SSL_free_buffers(connection->ssl)) /* strangers had OpenSSL's small buffer */
            SSL_set_default_read_buffer_len(connection->ssl, READ_CHUNK);
        return 1;
    }
    if (SSL_get_error(connection->ssl, done) == SSL_ERROR_WANT_READ)
        return 0;
    return ERR_GET_REASON(ERR_peek_error()) >= SSL_AD_REASON_OFFSET ? -2 : -1;
}

ssize_t tls_read(struct connection *connection, void *to, size_t room) {
    size_t done = 0, part;
    do { /* asks the socket again only when something of a record is there */
        ERR_clear_error();
        if (!SSL_read_ex(connection->ssl, (uint8_t *)to + done, room - done, &part)) {
            if (SSL_get_error(connection->ssl, 0) == SSL_ERROR_WANT_READ)
                break;
            return done ? (ssize_t)done : -1;
        }
        done += part;
    } while (done < room && SSL_has_pending(connection->ssl));
    return (ssize_t)done;
}

bool tls_seal(struct connection *connection, const void *data, size_t bytes) {
    size_t done;
    connection->records += bytes / SSL3_RT_MAX_PLAIN_LENGTH + 1;
    if (connection->records > RECORDS_OF_A_KEY) {
        connection->records = 0;
        SSL_key_update(connection->ssl, SSL_KEY_UPDATE_NOT_REQUESTED);
    }
    ERR_clear_error();
    return SSL_write_ex(connection->ssl, data, bytes, &done) && done == bytes;
}
