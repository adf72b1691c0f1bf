/* The command line, and the key that all sites share. */
#include "gateway.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_LEAST = 32, KEY_MOST = 4096, RANKS_MOST = 15000 };

bool is_name(const char *name) {
    size_t length = strlen(name);
    return length && length < NAME && strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == length;
}

bool split_address(const char *address, char *host, size_t room, char *port) {
    const char *colon = strrchr(address, ':');
    if (!colon || strlen(colon + 1) > 5 || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1))
        return false;
    size_t length = (size_t)(colon - address);
    if (length >= 2 && address[0] == '[' && address[length - 1] == ']') {
        address++;
        length -= 2;
    }
    if (length >= room || atoi(colon + 1) > 65535)
        return false;
    memcpy(host, address, length);
    host[length] = 0;
    memcpy(port, colon + 1, strlen(colon + 1) + 1);
    return true;
}

/* The key of TLS is a digest of the whole file, so a file of any length serves. */
static void read_key(const char *path, unsigned char *key) {
    unsigned char bytes[KEY_MOST];
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about))
        mistake("The key file %s cannot be read: %s.", path, strerror(errno));
    if (about.st_uid != geteuid())
        mistake("The key file %s must belong to the user that runs the bridge.", path);
    if (about.st_mode & 077)
        mistake("The key file %s has mode %04o, others can use it; chmod 600 %s.", path, about.st_mode & 07777, path);
    ssize_t length = read(fd, bytes, sizeof bytes);
    close(fd);
    if (length < KEY_LEAST)
        mistake("The key file %s has %zd bytes; a key has at least %d.", path, length < 0 ? 0 : length, KEY_LEAST);
    EVP_Digest(bytes, (size_t)length, key, NULL, EVP_sha256(), NULL);
    OPENSSL_cleanse(bytes, sizeof bytes);
}

static int number(const char *option, const char *word, int most) {
    char *end;
    long value = strtol(word, &end, 10);
    if (*end || end == word || value < 1 || value > most)
        mistake("--%s %s is no number from 1 to %d.", option, word, most);
    return (int)value;
}

void read_options(int count, char **words) {
    static const struct option options[] = {
        {"name", 1, 0, 'n'},   {"ranks", 1, 0, 'r'},  {"socket", 1, 0, 's'}, {"listen", 1, 0, 'l'},  {"join", 1, 0, 'j'},         {"key", 1, 0, 'k'},
        {"expect", 1, 0, 'e'}, {"map", 1, 0, 'm'},    {"timeout", 1, 0, 't'}, {"link-timeout", 1, 0, 'u'},
        {"nodes", 1, 0, 'N'},  {"secret", 1, 0, 'S'}, {"connections", 1, 0, 'c'}, {"reconnect", 1, 0, 'R'}, {"compress", 1, 0, 'z'}, {0, 0, 0, 0},
    };
    char host[256], port[8];
    g.timeout = 120;
    g.link_timeout = 10;
    g.lanes = 1;
    g.presses = press_is_there();
    opterr = 0;
    for (int which; (which = getopt_long(count, words, "", options, NULL)) != -1;) {
        switch (which) {
        case 'n': g.name = optarg; break;
        case 'r': g.ranks = number("ranks", optarg, RANKS_MOST); break;
        case 's': g.socket_path = optarg; break;
        case 'l': g.listen = optarg; break;
        case 'j': g.join = optarg; break;
        case 'k': g.key_path = optarg; break;
        case 'e': g.expect = optarg; break;
        case 't': g.timeout = number("timeout", optarg, 1000000); break;
        case 'c': g.lanes = number("connections", optarg, CONNECTIONS); break;
        case 'R': g.reconnect = number("reconnect", optarg, 1000000); break;
        case 'z':
            g.presses = press_is_there() && !strcmp(optarg, "auto");
            if (strcmp(optarg, "auto") && strcmp(optarg, "never"))
                mistake("--compress %s is not known; it is auto or never.", optarg);
            break;
        case 'N': g.nodes = optarg; break;
        case 'S': g.secret_path = optarg; break;
        case 'u': g.link_timeout = number("link-timeout", optarg, 1000000); break;
        case 'm':
            g.turns = !strcmp(optarg, "turns");
            if (!g.turns && strcmp(optarg, "blocks"))
                mistake("--map %s is not known; it is blocks or turns.", optarg);
            break;
        default: mistake("The option %s is not known, or lacks its value.", words[optind - 1]);
        }
    }
    if (optind < count)
        mistake("The word %s belongs to no option.", words[optind]);
    if (!g.name || !g.ranks || !g.socket_path || !g.key_path)
        mistake("--name, --ranks, --socket and --key are needed.");
    if (!is_name(g.name))
        mistake("--name %.80s is no name of a site: it has 1 to %d letters, digits, dots, dashes.", g.name, NAME - 1);
    if (!g.join == !g.expect || (g.expect && !g.listen))
        mistake("The first site has --listen and --expect, the others have --join.");
    if (g.listen && !split_address(g.listen, host, sizeof host, port))
        mistake("--listen %s is not HOST:PORT.", g.listen);
    if (g.join && !split_address(g.join, host, sizeof host, port))
        mistake("--join %s is not HOST:PORT.", g.join);
    if (!g.nodes != !g.secret_path || (g.nodes && !split_address(g.nodes, host, sizeof host, port)))
        mistake("--nodes HOST:PORT and --secret FILE belong together.");
    read_key(g.key_path, g.key);
    if (g.secret_path)
        read_key(g.secret_path, g.secret);
}
