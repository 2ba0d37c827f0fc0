-- How the server is: kept for status lines and commands, and an error is said once.

local M = {}

---@class midtoken.Status
---@field state string `stopped`, `starting`, `loading`, `ready`, `busy`, `off`, `error`
---@field message string one line for people: what is loaded, or what is wrong and what to do
---@field percent integer? while loading, where it is known

---@type midtoken.Status
M.current = { state = 'stopped', message = 'no file has been opened yet' }

local said ---@type string? the last error that was said

--- Take a status over and draw status lines again; ask for what was typed before the model was
--- ready. Fires the event `User MidtokenStatus`.
---@param status midtoken.Status
function M.update(status)
  local was_ready = M.current.state == 'ready' or M.current.state == 'busy'
  M.current = status
  vim.g.midtoken_status = status.state
  if status.state == 'error' and status.message ~= said then
    vim.notify('midtoken: ' .. status.message, vim.log.levels.ERROR)
  end
  said = status.state == 'error' and status.message or nil
  vim.api.nvim_exec_autocmds('User', { pattern = 'MidtokenStatus', modeline = false })
  vim.cmd.redrawstatus({ bang = true })
  if status.state == 'ready' and not was_ready then
    require('midtoken.ghost').ask()
  end
end

--- The status in a few words, as `midtoken loading 40 %`; empty where midtoken is not attached.
---@param buffer integer? the current one if it is left out
---@return string
function M.line(buffer)
  if #vim.lsp.get_clients({ name = 'midtoken', bufnr = buffer or 0 }) == 0 then
    return ''
  end
  local status = M.current
  local percent = status.percent and (' %d %%'):format(status.percent) or ''
  return 'midtoken ' .. status.state .. percent
end

return M
