// Cases and timing of the twin of transport's scheme `ccm`.
//
// transport_twin case=tc1 alpha=0.05 grid=gauss rows=64 steps=256 limited=1 fix=0     prints the norms of the case, one line of JSON
// transport_twin case=lauritzen grid=latlon rows=120 steps=120 limited=1 fix=1        the same, of three tracers
// transport_twin case=time rows=64 steps=9 tracers=4 dt=0.04 levels=FILE input=FILE [output=FILE]     prints CPU seconds a step
//
// Further words: wind=grid (interpolated from the grid; by default exact), iterations=3. The wind is in radii, eta-dot in eta, a unit of time.
// input: float64 (level, row, column) of u, v, eta-dot at the middle of every step, then of the tracers. output: the tracers at the end.
// levels: a table `interface,a,b` of hybrid coefficients; without it there is one level.

#include "transport_twin_scheme.hpp"

#include <cstdlib>
#include <ctime>
#include <map>

// The tracers of the cases (Williamson 1992, Lauritzen 2012) at a point.
static double form(const std::string &name, double lon, double lat)
{
    const auto distance = [&](double centre) { return std::acos(std::max(-1.0, std::min(1.0, std::cos(lat) * std::cos(lon - centre)))); };
    double r = distance(1.5 * PI), value = name == "slotted" || name == "bells" ? 0.1 : 0.0;
    if (name == "bell")
        return r < 1.0 / 3.0 ? 500.0 * (1.0 + std::cos(3.0 * PI * r)) : 0.0;
    for (const double centre : {5.0 * PI / 6.0, 7.0 * PI / 6.0}) {
        r = distance(centre);
        if (name == "hills")
            value += 0.95 * std::exp(-10.0 * (1.0 - std::cos(r)));
        else if (name == "bells" && r < 0.5)
            value += 0.45 * (1.0 + std::cos(2.0 * PI * r));
        else if (name == "slotted" && r <= 0.5 && (std::abs(lon - centre) >= 0.5 / 6.0 || (centre < PI ? -lat : lat) > 2.5 / 12.0))
            value = 1.0;
    }
    return value;
}

static void run_case(Transport &made, int steps)
{
    const Grid &g = made.g;
    const std::vector<std::string> names = made.wind.flow == "tc1" ? std::vector<std::string>{"bell"} : std::vector<std::string>{"hills", "bells", "slotted"};
    for (const auto &name : names) {
        Row q(g.at(g.levels, 0));
        g.each([&](long n, int, int j, int i) { q[n] = form(name, g.longitude(i), g.latitude(j)); });
        made.add(q);
    }
    const auto exact = made.tracers;  // the flows bring them back
    made.dt = made.wind.period / steps;
    for (int n = 0; n < steps; n++) {
        const double middle = (n + 0.5) * made.dt;
        g.each([&](long at, int, int j, int i) {
            if (made.on_grid)
                made.wind.exact(g.longitude(i), g.latitude(j), middle, made.wind.u[at], made.wind.v[at]);
        });
        made.step(middle);
    }
    for (size_t m = 0; m < names.size(); m++) {
        const Row &q = made.tracers[m], &e = exact[m];
        double off = 0.0, squares = 0.0, all = 0.0, worst = 0.0, most = 0.0;
        g.each([&](long n, int, int j, int) {
            off += g.area[j] * std::abs(q[n] - e[n]);
            squares += g.area[j] * (q[n] - e[n]) * (q[n] - e[n]);
            all += g.area[j] * e[n] * e[n];
            worst = std::max(worst, std::abs(q[n] - e[n]));
            most = std::max(most, std::abs(e[n]));
        });
        std::printf("%s\"%s\": {\"l1\": %.6g, \"l2\": %.6g, \"linf\": %.6g, \"mass\": %.6g}", m ? ", " : "{", names[m].c_str(), off / g.integral(e),
                    std::sqrt(squares / all), worst / most, g.integral(q) / g.integral(e) - 1.0);
    }
    std::puts("}");
}

static double median(Row values)
{
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

// Steps with the first tracer alone and with all, in turn; of several the first does not count.
static void run_time(Transport &all, int steps, int tracers, const std::string &input, const std::string &output)
{
    const Grid &g = all.g;
    std::ifstream source(input, std::ios::binary);
    std::vector<Row> fields(3 + tracers, Row(g.at(g.levels, 0)));
    for (Row &field : fields)
        for (int k = 0; k < g.levels; k++)
            for (int j = 0; j < g.rows; j++)
                source.read(reinterpret_cast<char *>(&field[g.at(k, j)]), std::streamsize(sizeof(double)) * g.columns);
    all.wind.u = fields[0];
    all.wind.v = fields[1];
    all.wind.w = fields[2];
    Transport one = all;
    one.add(fields[3]);
    for (int m = 0; m < tracers; m++)
        all.add(fields[3 + m]);
    Row seconds_of_one, seconds_of_all;
    for (int n = 0; n < steps; n++) {
        const std::clock_t begin = std::clock();
        one.step(0.0);
        const std::clock_t middle = std::clock();
        all.step(0.0);
        if (n > 0 || steps == 1) {
            seconds_of_one.push_back(double(middle - begin) / CLOCKS_PER_SEC);
            seconds_of_all.push_back(double(std::clock() - middle) / CLOCKS_PER_SEC);
        }
    }
    const double first = median(seconds_of_one), further = tracers == 1 ? 0.0 : (median(seconds_of_all) - first) / (tracers - 1);
    std::printf("{\"step_seconds\": %.6g, \"further_tracer_seconds\": %.6g, \"points\": %d}\n", first, further, g.levels * g.rows * g.columns);
    std::ofstream target;
    if (!output.empty())
        target.open(output, std::ios::binary);
    for (const Row &q : all.tracers)
        for (int k = 0; k < g.levels; k++)
            for (int j = 0; j < g.rows; j++)
                target.write(reinterpret_cast<const char *>(&q[g.at(k, j)]), std::streamsize(sizeof(double)) * g.columns);
}

int main(int count, char **arguments)
{
    std::map<std::string, std::string> words{{"grid", "gauss"}, {"wind", "exact"}, {"iterations", "3"}, {"limited", "1"},
                                             {"fix", "0"},      {"alpha", "0"},    {"dt", "0"},         {"tracers", "1"}};
    for (int n = 1; n < count; n++) {
        const std::string word = arguments[n];
        words[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    }
    const auto number = [&](const char *name) { return std::strtod(words[name].c_str(), nullptr); };
    const int steps = int(number("steps"));
    const Grid g(words["grid"] == "gauss", int(number("rows")), words["levels"]);
    Transport made(g, Wind{words["case"], number("alpha"), words["case"] == "tc1" ? 12.0 : 5.0});
    made.iterations = int(number("iterations"));
    made.limited = number("limited") != 0.0;
    made.fix = number("fix") != 0.0;
    made.on_grid = words["wind"] == "grid" || words["case"] == "time";
    made.dt = number("dt");
    if (words["case"] == "time")
        run_time(made, steps, int(number("tracers")), words["input"], words["output"]);
    else
        run_case(made, steps);
}
