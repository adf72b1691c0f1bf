/* The command line, and the key that all sites share. */
#include "gateway.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>

enum { KEY_LEAST = 32, KEY_MOST = 4096, RANKS_MOST = 15000, SECONDS_MOST = 1000000 };

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
    const char *map = "blocks", *compress = "auto";
    const struct { const char *name, **word; int *number, most; } options[] = {
        {"name", &g.name, NULL, 0},          {"socket", &g.socket_path, NULL, 0}, {"key", &g.key_path, NULL, 0},
        {"listen", &g.listen, NULL, 0},      {"expect", &g.expect, NULL, 0},      {"join", &g.join, NULL, 0},
        {"nodes", &g.nodes, NULL, 0},        {"secret", &g.secret_path, NULL, 0}, {"map", &map, NULL, 0},
        {"compress", &compress, NULL, 0},    {"ranks", NULL, &g.ranks, RANKS_MOST},
        {"connections", NULL, &g.lanes, CONNECTIONS},
        {"timeout", NULL, &g.timeout, SECONDS_MOST},
        {"link-timeout", NULL, &g.link_timeout, SECONDS_MOST},
        {"reconnect", NULL, &g.reconnect, SECONDS_MOST},
    };
    char host[256], port[8];
    g.timeout = 120;
    g.link_timeout = 10;
    g.lanes = 1;
    for (int i = 1; i < count; i += 2) {
        size_t o = 0, n = sizeof options / sizeof *options;
        if (strncmp(words[i], "--", 2))
            mistake("The word %s belongs to no option.", words[i]);
        while (o < n && strcmp(words[i] + 2, options[o].name))
            o++;
        if (o == n || i + 1 == count)
            mistake("The option %s is not known, or lacks its value.", words[i]);
        if (options[o].word)
            *options[o].word = words[i + 1];
        else
            *options[o].number = number(options[o].name, words[i + 1], options[o].most);
    }
    g.turns = !strcmp(map, "turns");
    if (!g.turns && strcmp(map, "blocks"))
        mistake("--map %s is not known; it is blocks or turns.", map);
    g.presses = press_is_there() && !strcmp(compress, "auto");
    if (strcmp(compress, "auto") && strcmp(compress, "never"))
        mistake("--compress %s is not known; it is auto or never.", compress);
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
