/* What the kernel's driver says of its GPUs, in files: HIP is not needed for it, and is not initialised by it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hip_driver.h"
#include "os.h"

#define NODES_AT_MOST    1024u /* processors are nodes too */
#define PROPERTIES_BYTES 4096u

/* "NAME VALUE" on a line of its own. Numbers there are decimal and fit in 64 bits. */
static int read_property(const char *properties, const char *name, uint64_t *out) {
    const size_t length = strlen(name);
    for (const char *line = properties; line != NULL; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (strncmp(line, name, length) != 0 || line[length] != ' ') continue;
        const char *const digits = line + length + 1;
        if (digits[0] < '0' || digits[0] > '9') return 0;
        *out = strtoull(digits, NULL, 10);
        return 1;
    }
    return 0;
}

int slwi_hip_topology_parse(const char *properties, slwi_hip_node *out) {
    uint64_t version = 0, domain = 0, location = 0;
    if (!read_property(properties, "gfx_target_version", &version) || version == 0 || version > 999999u) return 0;
    (void)read_property(properties, "domain", &domain);
    (void)read_property(properties, "location_id", &location);
    *out = (slwi_hip_node){(uint32_t)version, (uint32_t)domain, (uint32_t)location};
    return 1;
}

/* 1 when there is such a node; `properties` is empty where it may not be read. */
static int read_node(uint32_t number, char properties[PROPERTIES_BYTES]) {
    char path[80];
    const slwi_os *os = slwi_os_get();
    (void)snprintf(path, sizeof path, "/sys/class/kfd/kfd/topology/nodes/%u/properties", number);
    properties[0] = '\0';
    slwi_stat identity;
    if (os->fstatat(os, AT_FDCWD, path, 1, &identity) != 0) return 0;
    const int fd = os->openat(os, AT_FDCWD, path, O_RDONLY, 0);
    if (fd < 0) return 1;
    size_t used = 0;
    while (used + 1 < PROPERTIES_BYTES) {
        const int64_t got = os->read(os, fd, properties + used, PROPERTIES_BYTES - 1 - used);
        if (got <= 0) break;
        used += (size_t)got;
    }
    (void)os->close(os, fd);
    properties[used] = '\0';
    return 1;
}

uint32_t slwi_hip_topology(slwi_hip_node nodes[SLWI_HIP_NODES]) {
    char properties[PROPERTIES_BYTES] = {0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < NODES_AT_MOST && count < SLWI_HIP_NODES && read_node(i, properties); i++) {
        count += slwi_hip_topology_parse(properties, &nodes[count]) != 0;
    }
    return count;
}

/* Decimal pairs; the last two are written as hexadecimal digits. */
void slwi_hip_topology_name(uint32_t version, char out[32]) {
    (void)snprintf(out, 32, "gfx%u%x%x", version / 10000u, version / 100u % 100u, version % 100u);
}

/* Bus, device and function as the kernel packs them. */
static int parse_address(const char *text, uint32_t *domain, uint32_t *location) {
    char *end = NULL;
    unsigned long part[4];
    static const char separators[] = "::.";
    for (size_t i = 0; i < 4; i++) {
        part[i] = strtoul(text, &end, 16);
        if (end == text || (i < 3 && *end != separators[i])) return 0;
        text = end + 1;
    }
    if (part[1] > 0xffu || part[2] > 0x1fu || part[3] > 7u) return 0;
    *domain = (uint32_t)part[0];
    *location = (uint32_t)(part[1] << 8 | part[2] << 3 | part[3]);
    return 1;
}

uint32_t slwi_hip_topology_find(const slwi_hip_node *nodes, uint32_t count, const char *bus_address) {
    uint32_t domain = 0, location = 0;
    if (count == 0) return 0;
    if (bus_address != NULL && parse_address(bus_address, &domain, &location)) {
        for (uint32_t i = 0; i < count; i++) {
            /* Partitions of one device share its address; the kernel tells them apart in bits above these. */
            if (nodes[i].domain == domain && (nodes[i].location & 0xffffu) == location) return nodes[i].version;
        }
        return 0;
    }
    for (uint32_t i = 1; i < count; i++) {
        if (nodes[i].version != nodes[0].version) return 0;
    }
    return nodes[0].version;
}
